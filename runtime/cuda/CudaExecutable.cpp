//===- CudaExecutable.cpp - runs a command list on an NVIDIA GPU ----------===//

#include "heddle/Runtime/CudaDevice.h"

#include "../core/Binding.h"
#include "../core/Donation.h"
#include "DeviceSession.h"

#include <mutex>

namespace heddle {
using namespace cuda;

struct CudaExecutable::Impl {
  Function function;
  CudaOptions options;
  std::shared_ptr<const Driver> driver;
  std::shared_ptr<DeviceContext> context;
  std::unique_ptr<DeviceSession> session;
  std::vector<Address> lastBases; // whose pointers were checked
  mutable std::mutex running;

  ~Impl();
  Status load(const Program &program);
  Status prepare(int ordinal);
  Status bind(const void *const *args, const void *const *results, bool host,
              std::vector<Address> &bases) const;
  Status ordinalOf(const std::vector<Address> &bases, int &ordinal) const;
  Status run(void *const *args, void *const *results, CudaTiming *timing);
  Status runHost(const void *const *args, void *const *results,
                 CudaTiming *timing);
  Status execute(std::vector<Address> &bases, CudaTiming *timing);
};

CudaExecutable::Impl::~Impl() {
  if (!session)
    return;
  // Freed in its context; a context that is gone has freed everything itself.
  ContextScope scope(*context);
  session.reset();
}

Status CudaExecutable::Impl::load(const Program &program) {
  if (program.target != "cuda")
    return Status::error("the bundle is compiled for target '" +
                         program.target +
                         "', this device is 'cuda'; recompile with "
                         "--target=sm_80 or the like");
  if (Status s = verifyFunction(function); !s)
    return s;
  if (!options.modules)
    options.modules = std::make_shared<CudaModuleCache>();
  if (options.device < -1)
    return Status::error("expected a CUDA device from 0, or -1 for that of the "
                         "buffers, got " +
                         std::to_string(options.device));
  if (options.stream && !options.context)
    return Status::error("expected the context of the caller's stream, got "
                         "none; pass both");
  if (Status s = Driver::load(options.driver, driver); !s)
    return s;
  if (options.device < 0 && !options.context)
    return {};
  return prepare(options.device);
}

Status CudaExecutable::Impl::prepare(int ordinal) {
  std::shared_ptr<DeviceContext> opened;
  if (Status s = DeviceContext::open(driver, ordinal, options.context, opened);
      !s)
    return s;
  ContextScope scope(*opened);
  if (Status s = scope.status(); !s)
    return s;
  auto prepared = std::make_unique<DeviceSession>(function, options, opened);
  if (Status s = prepared->prepare(*options.modules); !s)
    return s;
  context = std::move(opened);
  session = std::move(prepared);
  // Both live on in their loaded form.
  function.constants = {};
  for (GpuImage &image : function.images)
    image.bytes = {};
  return {};
}

Status CudaExecutable::Impl::bind(const void *const *args,
                                  const void *const *results, bool host,
                                  std::vector<Address> &bases) const {
  bases.assign(numBases(function), 0);
  return bindBuffers(function, args, results, /*aliases=*/!host,
                     [&](size_t i, const void *p) {
                       bases[i] = reinterpret_cast<Address>(p);
                     });
}

/// The device of the first buffer that there is.
Status CudaExecutable::Impl::ordinalOf(const std::vector<Address> &bases,
                                       int &ordinal) const {
  for (size_t i = 0; i + 2 < bases.size(); ++i) {
    if (!bases[i])
      continue;
    Result result = driver->cuPointerGetAttribute(
        &ordinal, kPointerDeviceOrdinal, bases[i]);
    if (result == kErrorInvalidValue)
      return Status::error(
          "expected buffers in device memory to find the device, got a pointer "
          "that the driver does not know; pass device memory, or host memory "
          "to runHost");
    return driver->check(result, "cuPointerGetAttribute");
  }
  ordinal = 0;
  return {};
}

Status CudaExecutable::Impl::execute(std::vector<Address> &bases,
                                     CudaTiming *timing) {
  if (timing)
    return session->time(bases, *timing);
  return session->enqueue(bases);
}

Status CudaExecutable::Impl::run(void *const *args, void *const *results,
                                 CudaTiming *timing) {
  std::vector<Address> bases;
  if (Status s = bind(args, results, /*host=*/false, bases); !s)
    return s;
  if (!session) {
    int ordinal = 0;
    if (Status s = ordinalOf(bases, ordinal); !s)
      return s;
    if (Status s = prepare(ordinal); !s)
      return s;
  }
  ContextScope scope(*context);
  if (Status s = scope.status(); !s)
    return s;
  if (bases != lastBases) {
    std::vector<Address> ours(bases.begin(), bases.end() - 2);
    if (Status s = checkDonatedMemory(function, ours); !s)
      return s;
    if (Status s = session->checkPointers(bases); !s)
      return s;
    lastBases = bases;
  }
  if (Status s = execute(bases, timing); !s)
    return s;
  return session->ownsStream() ? session->synchronize() : Status();
}

Status CudaExecutable::Impl::runHost(const void *const *args,
                                     void *const *results, CudaTiming *timing) {
  std::vector<Address> bases;
  if (Status s = bind(args, results, /*host=*/true, bases); !s)
    return s;
  if (!session)
    if (Status s = prepare(0); !s)
      return s;
  ContextScope scope(*context);
  if (Status s = scope.status(); !s)
    return s;
  if (Status s = session->takeHostBuffers(); !s)
    return s;
  Status s = session->upload(args);
  bases = session->hostBases();
  if (s.ok())
    s = execute(bases, timing);
  if (s.ok())
    s = session->download(results);
  // After a failure copies may be under way: the caller's memory is his again
  // when this returns.
  if (!s)
    (void)session->synchronize();
  return s;
}

CudaExecutable::CudaExecutable() : impl(new Impl) {}
CudaExecutable::~CudaExecutable() = default;

Status CudaExecutable::load(const Function &function, const Program &program,
                            const CudaOptions &options,
                            std::unique_ptr<CudaExecutable> &out) {
  std::unique_ptr<CudaExecutable> executable(new CudaExecutable);
  executable->impl->function = function;
  executable->impl->options = options;
  if (Status s = executable->impl->load(program); !s)
    return s;
  out = std::move(executable);
  return {};
}

Status CudaExecutable::run(void *const *args, void *const *results,
                           CudaTiming *timing) {
  std::lock_guard<std::mutex> lock(impl->running);
  return impl->run(args, results, timing);
}

Status CudaExecutable::runHost(const void *const *args, void *const *results,
                               CudaTiming *timing) {
  std::lock_guard<std::mutex> lock(impl->running);
  return impl->runHost(args, results, timing);
}

Status CudaExecutable::synchronize() {
  std::lock_guard<std::mutex> lock(impl->running);
  if (!impl->session)
    return {};
  ContextScope scope(*impl->context);
  if (Status s = scope.status(); !s)
    return s;
  return impl->session->synchronize();
}

const Function &CudaExecutable::function() const { return impl->function; }

int CudaExecutable::device() const {
  std::lock_guard<std::mutex> lock(impl->running);
  return impl->session ? impl->session->device().ordinal : -1;
}

std::string CudaExecutable::image() const {
  std::lock_guard<std::mutex> lock(impl->running);
  return impl->session ? impl->session->imageName() : "";
}

int64_t CudaExecutable::deviceBytes() const {
  std::lock_guard<std::mutex> lock(impl->running);
  return impl->session ? impl->session->bytes() : 0;
}

int64_t CudaExecutable::graphsCaptured() const {
  std::lock_guard<std::mutex> lock(impl->running);
  return impl->session ? impl->session->graphCache().numCaptured : 0;
}

int64_t CudaExecutable::graphsUpdated() const {
  std::lock_guard<std::mutex> lock(impl->running);
  return impl->session ? impl->session->graphCache().numUpdated : 0;
}

} // namespace heddle
