/* Uses the C interface as a C program would; returns the line of the first
   check that fails, or 0. */

#include "heddle-c/heddle.h"

#include <math.h>
#include <string.h>

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition))                                                          \
      return __LINE__;                                                         \
  } while (0)

int use_c_api(const char *path);
int use_c_api(const char *path) {
  HeddleProgram *program = NULL;
  HeddleStatus status = heddleProgramLoadFile(path, &program);
  CHECK(status == NULL && program != NULL);
  CHECK(strcmp(heddleStatusMessage(status), "") == 0);
  CHECK(strcmp(heddleProgramTarget(program), "cpu") == 0);
  CHECK(strcmp(heddleProgramProducer(program), "heddle test") == 0);
  CHECK(heddleProgramNumFunctions(program) == 2);
  CHECK(heddleFunctionNumArguments(program, 0) == 2);
  CHECK(heddleFunctionNumResults(program, 0) == 1);
  CHECK(strcmp(heddleFunctionName(program, 0), "main") == 0);
  CHECK(heddleFunctionName(program, 2) == NULL);

  HeddleValueInfo info;
  CHECK(heddleFunctionArgument(program, 0, 1, &info) == NULL);
  CHECK(strcmp(info.name, "weights") == 0);
  CHECK(info.type.dtype == HEDDLE_F32 && info.type.rank == 2);
  CHECK(info.type.shape[0] == 3 && info.type.shape[1] == 40);
  CHECK(info.byteSize == 480 && info.used && !info.donated);
  CHECK(heddleFunctionResult(program, 0, 0, &info) == NULL);
  CHECK(info.alias == -1);

  /* Two functions of one name: the shapes decide. */
  int32_t function = -1;
  status = heddleProgramFindFunction(program, "main", NULL, 0, &function);
  CHECK(status != NULL && function == -1);
  CHECK(strstr(heddleStatusMessage(status), "found 2") != NULL);
  heddleStatusFree(status);
  int64_t x_shape[] = {40}, w_shape[] = {3, 40};
  HeddleTensorType types[2] = {{HEDDLE_F32, 1, x_shape},
                               {HEDDLE_F32, 2, w_shape}};
  CHECK(heddleProgramFindFunction(program, "main", types, 2, &function) ==
        NULL);
  CHECK(function == 0);

  HeddlePlan plan;
  CHECK(heddleFunctionPlan(program, 0, 3, &plan) == NULL);
  CHECK(plan.argBytes == 640 && plan.outBytes == 160);
  CHECK(plan.tempBytes == 640 + 3 * 64);
  CHECK(plan.footprintBytes == 640 + 160 + 640 + 3 * 64);

  HeddleSession *session = NULL;
  HeddleSessionOptions options = {
      .structSize = sizeof(HeddleSessionOptions), .threads = 2, .poison = 1};
  CHECK(heddleSessionCreate(program, function, "cpu", &options, &session) ==
        NULL);
  CHECK(heddleSessionNumThreads(session) == 2);
  heddleProgramFree(program); /* the session stands on its own */

  float x[40], weights[120], y[40];
  for (int i = 0; i < 40; ++i)
    x[i] = (float)i;
  for (int i = 0; i < 120; ++i)
    weights[i] = 1.0f;
  void *arguments[] = {x, weights};
  void *results[] = {y};
  CHECK(heddleSessionRun(session, arguments, 2, results, 1) == NULL);
  for (int i = 0; i < 40; ++i)
    CHECK(y[i] == (float)i + 6.0f);
  status = heddleSessionRun(session, arguments, 1, results, 1);
  CHECK(status != NULL);
  CHECK(strcmp(heddleStatusMessage(status),
               "expected 2 arguments, got 1") == 0);
  heddleStatusFree(status);
  heddleSessionFree(session);
  return 0;
}
