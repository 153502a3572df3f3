/* Kernels with the signature of compiled ones; together they use code, read-only
   data, relocated pointers, writable and zeroed data, the offset table, and
   functions of the C library. */

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { kBlock = 16 };

/* y[i] = a * x[i] + y[i] on a block of 16; args: a (f64 bits), n, x, y. */
void axpy(void *const *args, int64_t block, void *scratch) {
  double a;
  memcpy(&a, args[0], sizeof(a));
  int64_t n = *(const int64_t *)args[1];
  const float *x = (const float *)args[2];
  float *y = (float *)args[3];
  (void)scratch;
  for (int64_t i = block * kBlock; i < n && i < (block + 1) * kBlock; ++i)
    y[i] = (float)a * x[i] + y[i];
}

/* y[i] = exp(x[i]) through the C library; args: n, x, y. One block. */
void exponential(void *const *args, int64_t block, void *scratch) {
  int64_t n = *(const int64_t *)args[0];
  const float *x = (const float *)args[1];
  float *y = (float *)args[2];
  (void)block;
  (void)scratch;
  for (int64_t i = 0; i < n; ++i)
    y[i] = expf(x[i]);
}

/* Copies a block of 16 floats through its scratch; args: x, y. */
void through_scratch(void *const *args, int64_t block, void *scratch) {
  const float *x = (const float *)args[0] + block * kBlock;
  float *y = (float *)args[1] + block * kBlock;
  memcpy(scratch, x, kBlock * sizeof(float));
  memcpy(y, scratch, kBlock * sizeof(float));
}

/* out[b] = sum over the table's tensors of element b; args: table, count, out. */
void sum_of_tables(void *const *args, int64_t block, void *scratch) {
  void *const *table = (void *const *)args[0];
  int64_t count = *(const int64_t *)args[1];
  float *out = (float *)args[2];
  (void)scratch;
  float sum = 0;
  for (int64_t t = 0; t < count; ++t)
    sum += ((const float *)table[t])[block];
  out[block] = sum;
}

/* Functions outside of the kernel signature, called by the loader's test. */

static const float kWeights[8] = {1, 2, 4, 8, 16, 32, 64, 128};
float weight(int i) { return kWeights[i & 7]; }

static int one(void) { return 1; }
static int two(void) { return 2; }
static int three(void) { return 3; }
int (*const kTable[3])(void) = {one, two, three};
int call_table(int i) { return kTable[i](); }

int gCounter = 40;
static int sZeroed[1000];
int count(int i) {
  gCounter += 1;
  sZeroed[i] += 2;
  return gCounter + sZeroed[i];
}

int select_case(int i) {
  switch (i) {
  case 0: return 11;
  case 1: return 7;
  case 2: return 5;
  case 3: return 3;
  case 4: return 2;
  case 5: return 13;
  case 6: return 17;
  case 7: return gCounter;
  default: return -1;
  }
}

double power(double x, double y) { return pow(x, y) + tanh(x) + erff((float)y); }
