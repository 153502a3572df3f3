/*===- heddle.h - running compiled programs from C ---------------*- C -*-===*\
|*
|* Loads a .heddle bundle, chooses a function, and runs it on a device. Plain C;
|* nothing here depends on the compiler or on LLVM.
|*
|* Errors. A function that can fail returns a HeddleStatus: NULL is success,
|* anything else carries one sentence and is released with heddleStatusFree.
|* Output parameters are written on success only.
|*
|* Threads. A program does not change after loading and may be used from any
|* number of threads. Runs of one session wait for each other; different
|* sessions run at the same time, each with threads of its own. An object must
|* outlive every call on it; a session does not need its program any more.
|*
|* Memory. A session takes all its memory when it is created; a run allocates
|* nothing (device memory of runs on host pointers is taken in the first one).
|* Strings and shapes that are returned belong to the program.
|*
\*===----------------------------------------------------------------------===*/

#ifndef HEDDLE_C_HEDDLE_H
#define HEDDLE_C_HEDDLE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define HEDDLE_EXPORT __attribute__((visibility("default")))
#else
#define HEDDLE_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct HeddleStatusImpl *HeddleStatus;
typedef struct HeddleProgram HeddleProgram;
typedef struct HeddleSession HeddleSession;

/* "0.1.0". */
HEDDLE_EXPORT const char *heddleVersion(void);

/* The sentence of a failure, without a trailing period; "" for NULL. It lives
   as long as the status. */
HEDDLE_EXPORT const char *heddleStatusMessage(HeddleStatus status);
HEDDLE_EXPORT void heddleStatusFree(HeddleStatus status);

/*===---------------------------- Signatures ------------------------------===*/

/* Element types; the numbers never change. */
typedef enum HeddleDType {
  HEDDLE_F32 = 0,
  HEDDLE_F64 = 1,
  HEDDLE_F16 = 2,
  HEDDLE_BF16 = 3,
  HEDDLE_I1 = 4, /* one byte per element */
  HEDDLE_I8 = 5,
  HEDDLE_I16 = 6,
  HEDDLE_I32 = 7,
  HEDDLE_I64 = 8
} HeddleDType;

/* A dense row-major tensor. */
typedef struct HeddleTensorType {
  int32_t dtype; /* a HeddleDType */
  int32_t rank;
  const int64_t *shape; /* rank sizes */
} HeddleTensorType;

/* An argument or a result. */
typedef struct HeddleValueInfo {
  const char *name; /* "" if it has none */
  HeddleTensorType type;
  int64_t byteSize;
  int32_t used;    /* arguments: 0 if the program never reads it */
  int32_t donated; /* arguments: 1 if a run may overwrite it */
  int32_t alias;   /* results: the donated argument whose memory it takes (pass
                      the same pointer for both), or -1 */
} HeddleValueInfo;

/* The memory plan in bytes; nothing more is allocated. */
typedef struct HeddlePlan {
  int64_t argBytes;       /* arguments that are read */
  int64_t outBytes;       /* results */
  int64_t tempBytes;      /* arena and the scratch of all threads */
  int64_t aliasBytes;     /* results that live in donated arguments */
  int64_t footprintBytes; /* arg + out + temp - alias */
  int64_t maxLiveBytes;   /* peak of values that are neither argument nor
                             result, wherever they are */
  int64_t workBytes;      /* what the plan takes for them: that peak, or the
                             arena where it is larger */
  uint64_t planHash;      /* equal plans have equal hashes */
} HeddlePlan;

/*===----------------------------- Programs -------------------------------===*/

/* Reads a bundle from a file ("-": standard input) or from memory, which is not
   kept. Fails on anything but a whole, unaltered bundle of this version. */
HEDDLE_EXPORT HeddleStatus heddleProgramLoadFile(const char *path,
                                                 HeddleProgram **program);
HEDDLE_EXPORT HeddleStatus heddleProgramLoadMemory(const void *data,
                                                   size_t size,
                                                   HeddleProgram **program);
HEDDLE_EXPORT void heddleProgramFree(HeddleProgram *program);

/* "cpu"; "x86-64-v4"; "heddle 0.1.0 llvm 22.1.8". */
HEDDLE_EXPORT const char *heddleProgramTarget(const HeddleProgram *program);
HEDDLE_EXPORT const char *heddleProgramIsa(const HeddleProgram *program);
HEDDLE_EXPORT const char *heddleProgramProducer(const HeddleProgram *program);

/* Functions are numbered from 0. Several may share a name and differ in the
   shapes of their arguments. */
HEDDLE_EXPORT int32_t heddleProgramNumFunctions(const HeddleProgram *program);

/* The number of the function called `name` (NULL or "": any) whose arguments
   have the given types (NULL: any). Fails if none or more than one matches and
   lists what the program holds. */
HEDDLE_EXPORT HeddleStatus heddleProgramFindFunction(
    const HeddleProgram *program, const char *name,
    const HeddleTensorType *arguments, int32_t numArguments,
    int32_t *function);

/* NULL and 0 for a function that does not exist. */
HEDDLE_EXPORT const char *heddleFunctionName(const HeddleProgram *program,
                                             int32_t function);
HEDDLE_EXPORT int32_t heddleFunctionNumArguments(const HeddleProgram *program,
                                                 int32_t function);
HEDDLE_EXPORT int32_t heddleFunctionNumResults(const HeddleProgram *program,
                                               int32_t function);
HEDDLE_EXPORT HeddleStatus heddleFunctionArgument(const HeddleProgram *program,
                                                  int32_t function,
                                                  int32_t argument,
                                                  HeddleValueInfo *info);
HEDDLE_EXPORT HeddleStatus heddleFunctionResult(const HeddleProgram *program,
                                                int32_t function,
                                                int32_t result,
                                                HeddleValueInfo *info);
/* The plan with `threads` workers (0: all cores of this process). */
HEDDLE_EXPORT HeddleStatus heddleFunctionPlan(const HeddleProgram *program,
                                              int32_t function, int32_t threads,
                                              HeddlePlan *plan);

/*===----------------------------- Sessions -------------------------------===*/

typedef struct HeddleSessionOptions {
  size_t structSize; /* sizeof(HeddleSessionOptions), for later fields */
  int32_t threads;   /* 0: all cores of this process */
  int32_t poison;    /* 1: before each run, fill temporaries and results with
                        NaN, to reveal what is not written */
  /* The next four are for "cuda"; zero is the default. A structSize that ends
     here is accepted. */
  int32_t devicePointers; /* 1: heddleSessionRun takes device memory; 0: it
                             takes host memory, uploads, downloads and waits */
  int32_t checkLaunches;  /* 1: wait after every command, so that a failure
                             names its kernel */
  void *context; /* CUcontext of the caller, or NULL: the primary one */
  void *stream;  /* CUstream of the caller, to which runs on device memory are
                    added without waiting; NULL: a stream of the session, and
                    runs wait. Both outlive the session. */
  /* The rest is for "emulator"; zero is the default. A structSize that ends
     here is accepted. Strings are read by heddleSessionCreate only. */
  const char *target;   /* "sm_80"; NULL: the bundle's only one */
  const char *sanitize; /* "all", "none", or of memcheck, racecheck, initcheck
                           and synccheck, joined by commas; NULL: all */
  uint64_t seed;        /* of the order of warps and lanes; 0: as they are */
} HeddleSessionOptions;

/* Devices of this build, ended by NULL: {"cpu", "cuda", "emulator", NULL}. A
   session on "cuda:1" takes the device with that number; on "cuda" it takes the
   one of `context`, else the one that holds the buffers of the first run, else
   0. One on "emulator" runs the GPU kernels of bundles that were made with
   heddle-compile --emulator on the CPU; a fault that a sanitizer finds is the
   error of the run. */
HEDDLE_EXPORT const char *const *heddleDeviceNames(void);
/* "AMD EPYC ... (x86-64-v4)", "NVIDIA A100 (sm_80), ...", or "unavailable: "
   and the reason; NULL for a device that is not of this build. The string lives
   as long as the process. */
HEDDLE_EXPORT const char *heddleDeviceDescription(const char *device);

/* Prepares a function for a device; `options` may be NULL. Fails if the device
   does not exist or cannot run the code, or if memory is too small for the plan
   (the message has needed and available MiB). */
HEDDLE_EXPORT HeddleStatus heddleSessionCreate(
    const HeddleProgram *program, int32_t function, const char *device,
    const HeddleSessionOptions *options, HeddleSession **session);
HEDDLE_EXPORT void heddleSessionFree(HeddleSession *session);
/* Threads of the CPU that a run takes; 0 for other devices. */
HEDDLE_EXPORT int32_t heddleSessionNumThreads(const HeddleSession *session);

/* Runs the function: one pointer per argument and per result, to byteSize bytes
   with the alignment of their elements (64 is fastest; the emulator needs 16).
   Arguments that are not
   used may be NULL. Arguments are only written if they are donated. */
HEDDLE_EXPORT HeddleStatus heddleSessionRun(HeddleSession *session,
                                            void *const *arguments,
                                            int32_t numArguments,
                                            void *const *results,
                                            int32_t numResults);

/*===------------------------------ Streams -------------------------------===*/

/* Steps over state that stays in place, each on a batch from the host. A stream
   runs its session in order, on a thread of its own, and has two upload slots:
   the next batch is copied while a step runs. Sessions on "cpu" and "emulator";
   on "cuda" a caller with device memory overlaps copies itself, with a second
   CUDA stream. The session must outlive the stream, and so must the buffers. */
typedef struct HeddleStream HeddleStream;

/* `arguments` and `results` as for heddleSessionRun; those of the `numStreamed`
   argument numbers in `streamed` are not read. Donated arguments are the state:
   pass their pointers for the results that live in them. Fails for numbers that
   do not exist, come twice or are donated. */
HEDDLE_EXPORT HeddleStatus heddleStreamCreate(
    HeddleSession *session, void *const *arguments, int32_t numArguments,
    void *const *results, int32_t numResults, const int32_t *streamed,
    int32_t numStreamed, HeddleStream **stream);
/* Copies a batch, a pointer per streamed argument, and lets a step run on it.
   Waits while both slots are taken; the batch is the caller's again when it
   returns. `outputs` is NULL, or has a pointer or NULL per result, to which the
   step copies it (the loss of each step). The error of an earlier step is
   returned from then on, and nothing runs any more. One thread at a time. */
HEDDLE_EXPORT HeddleStatus heddleStreamPush(HeddleStream *stream,
                                            const void *const *batch,
                                            void *const *outputs);
/* Waits until every pushed step has run. Then state, results and outputs may be
   read. */
HEDDLE_EXPORT HeddleStatus heddleStreamWait(HeddleStream *stream);
/* Waits as well. */
HEDDLE_EXPORT void heddleStreamFree(HeddleStream *stream);

#ifdef __cplusplus
}
#endif

#endif /* HEDDLE_C_HEDDLE_H */
