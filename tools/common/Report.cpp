//===- Report.cpp - what a compiled program is, as text or JSON -----------===//

#include "common/Report.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <ostream>

using namespace heddle;

namespace {

/// Counts of a command list: how many commands are written and, per kernel, how
/// many launches they become once repeats are unrolled.
struct CommandCounts {
  std::array<int64_t, 4> written{}; // by Command::Kind
  int64_t together = 0;             // launches that join the one before
  std::vector<int64_t> launches;    // by kernel
  explicit CommandCounts(const Function &function)
      : launches(function.kernels.size()) {
    count(function.commands, 1);
  }
  int64_t of(Command::Kind kind) const {
    return written[static_cast<size_t>(kind)];
  }

private:
  void count(const std::vector<Command> &commands, int64_t times) {
    for (const Command &command : commands) {
      ++written[static_cast<size_t>(command.kind)];
      together += command.together;
      if (command.kind == Command::Kind::Launch &&
          command.kernel < launches.size())
        launches[command.kernel] += times;
      if (command.kind == Command::Kind::Repeat)
        count(command.body, times * command.count);
    }
  }
};

double mib(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%016" PRIx64, value);
  return text;
}

/// printf into a string, for columns.
template <typename... Args>
std::string format(const char *pattern, Args... args) {
  int size = std::snprintf(nullptr, 0, pattern, args...);
  std::string text(static_cast<size_t>(size), '\0');
  std::snprintf(text.data(), text.size() + 1, pattern, args...);
  return text;
}

Json reportSignature(const std::vector<NamedTensorType> &values,
                     bool arguments) {
  Json list = Json::array();
  for (const NamedTensorType &value : values) {
    Json entry{{"name", value.name},
               {"dtype", dtypeName(value.type.dtype)},
               {"shape", value.type.shape},
               {"bytes", value.type.byteSize()}};
    if (arguments) {
      entry["used"] = value.used;
      entry["donated"] = value.donated;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

void printSignature(const char *title,
                    const std::vector<NamedTensorType> &values,
                    std::ostream &os) {
  os << "  " << title << "\n";
  for (size_t i = 0; i < values.size(); ++i) {
    const NamedTensorType &value = values[i];
    os << format("    %-3zu %-32s %10.3f MiB", i, value.type.str().c_str(),
                 mib(value.type.byteSize()));
    if (!value.name.empty())
      os << "  " << value.name;
    if (!value.used)
      os << "  (unread)";
    if (value.donated)
      os << "  (donated)";
    os << "\n";
  }
}

KernelFacts factsIn(const KernelFactsOf &facts, const Function &function,
                    const GpuImage &image, size_t kernel) {
  if (!facts || kernel >= function.kernels.size())
    return {};
  return facts(image.target, function.kernels[kernel], image.kernels[kernel]);
}

/// A figure that may be unknown.
Json known(int64_t value) { return value < 0 ? Json() : Json(value); }

void addFacts(const KernelFacts &facts, Json &kernel) {
  if (facts.occupancy) {
    kernel["blocks_per_sm"] = facts.occupancy->blocksPerSM;
    kernel["occupancy"] = facts.occupancy->fraction;
    kernel["limited_by"] = facts.occupancy->limit;
  }
  if (!facts.chip.empty()) {
    kernel["chip"] = facts.chip;
    kernel["roofline_us"] = facts.rooflineSeconds * 1e6;
    kernel["roofline_limit"] = facts.rooflineLimit;
  }
}

Json reportImages(const Function &function, const KernelFactsOf &facts) {
  Json list = Json::array();
  for (const GpuImage &image : function.images) {
    Json kernels = Json::array();
    for (size_t i = 0; i < image.kernels.size(); ++i) {
      const GpuKernel &k = image.kernels[i];
      Json kernel{{"symbol", k.symbol},
                  {"grid", k.grid},
                  {"block", k.block},
                  {"shared_bytes", k.sharedBytes},
                  {"registers", known(k.registers)},
                  {"spill_bytes", known(k.spillBytes)},
                  {"stack_bytes", known(k.stackBytes)},
                  {"static_shared_bytes", known(k.staticSharedBytes)},
                  {"global_bytes", known(k.globalBytes)},
                  {"tile", k.tile}};
      addFacts(factsIn(facts, function, image, i), kernel);
      kernels.push_back(std::move(kernel));
    }
    list.push_back(
        {{"target", image.target},
         {"kind", gpuImageKindName(image.kind)},
         {"ptx_version",
          image.ptxVersion ? Json(ptxVersionText(image.ptxVersion)) : Json()},
         {"bytes", image.bytes.size()},
         {"kernels", std::move(kernels)}});
  }
  return list;
}

std::string dims(const std::array<uint32_t, 3> &d) {
  std::string text = std::to_string(d[0]);
  if (d[1] != 1 || d[2] != 1)
    text += "x" + std::to_string(d[1]) + "x" + std::to_string(d[2]);
  return text;
}

std::string orUnknown(int64_t value) {
  return value < 0 ? "?" : std::to_string(value);
}

/// The sum of both, unknown where nothing but the dynamic part is known.
int64_t sharedOf(const GpuKernel &k) {
  return k.sharedBytes + std::max<int64_t>(k.staticSharedBytes, 0);
}

/// What the kernels of an image take of a multiprocessor.
void printResources(const Function &function, const GpuImage &image,
                    const KernelFactsOf &facts, int column, std::ostream &os) {
  os << format("    %-*s %8s %6s %10s %6s %6s %8s  %s\n", column, "name",
               "grid", "block", "registers", "spills", "stack", "shared",
               "occupancy");
  for (size_t i = 0; i < image.kernels.size(); ++i) {
    const GpuKernel &k = image.kernels[i];
    os << format("    %-*s %8s %6s %10s %6s %6s %8" PRId64, column,
                 k.symbol.c_str(), dims(k.grid).c_str(), dims(k.block).c_str(),
                 orUnknown(k.registers).c_str(),
                 orUnknown(k.spillBytes).c_str(),
                 orUnknown(k.stackBytes).c_str(), sharedOf(k));
    if (auto o = factsIn(facts, function, image, i).occupancy)
      os << format("  %.0f %%, %d blocks per SM, limited by %s",
                   100 * o->fraction, o->blocksPerSM, o->limit.c_str());
    else
      os << "  ?";
    os << "\n";
  }
}

/// What they have to do at least, what they do, and the time it takes at least.
void printWork(const Function &function, const GpuImage &image,
               const KernelFactsOf &facts, int column, std::ostream &os) {
  std::string chip;
  for (size_t i = 0; i < image.kernels.size() && chip.empty(); ++i)
    chip = factsIn(facts, function, image, i).chip;
  os << format("    %-*s %10s %10s %10s %6s  %s\n", column, "", "MFLOP",
               "floor MiB", "moved MiB", "ratio",
               (chip.empty() ? "" : "least time on " + chip).c_str());
  for (size_t i = 0; i < image.kernels.size(); ++i) {
    const GpuKernel &k = image.kernels[i];
    const KernelInfo &info = function.kernels[i];
    os << format("    %-*s %10.3f %10.3f", column, k.symbol.c_str(),
                 static_cast<double>(info.flops) * 1e-6, mib(info.minBytes));
    if (k.globalBytes < 0 || info.minBytes < 1)
      os << format(" %10s %6s", "?", "?");
    else
      os << format(" %10.3f %6.2f", mib(k.globalBytes),
                   static_cast<double>(k.globalBytes) /
                       static_cast<double>(info.minBytes));
    if (KernelFacts f = factsIn(facts, function, image, i); !f.chip.empty())
      os << format("  %.3f us, limited by %s", f.rooflineSeconds * 1e6,
                   f.rooflineLimit.c_str());
    os << "\n";
  }
}

void printImages(const Function &function, const KernelFactsOf &facts,
                 std::ostream &os) {
  for (const GpuImage &image : function.images) {
    os << "  " << gpuImageKindName(image.kind) << " for " << image.target
       << ", " << image.bytes.size() << " bytes";
    if (image.ptxVersion)
      os << ", PTX ISA " << ptxVersionText(image.ptxVersion);
    os << "\n";
    size_t width = 4;
    for (const GpuKernel &k : image.kernels)
      width = std::max(width, k.symbol.size());
    int column = static_cast<int>(width);
    printResources(function, image, facts, column, os);
    printWork(function, image, facts, column, os);
  }
}

} // namespace

Status heddle::parseReportFormat(const std::string &value,
                                 ReportFormat &format) {
  if (value.empty() || value == "text")
    format = ReportFormat::Text;
  else if (value == "json")
    format = ReportFormat::Json;
  else
    return Status::error("expected --report=text or --report=json, got '" +
                         value + "'");
  return {};
}

Json heddle::reportFunction(const Function &function, int threads,
                            const KernelFactsOf &facts) {
  CommandCounts counts(function);
  Json kernels = Json::array();
  int64_t flops = 0;
  for (size_t i = 0; i < function.kernels.size(); ++i) {
    const KernelInfo &kernel = function.kernels[i];
    flops += kernel.flops * counts.launches[i];
    kernels.push_back({{"name", kernel.name},
                       {"family", kernel.family},
                       {"description", kernel.description},
                       {"launches", counts.launches[i]},
                       {"blocks", kernel.numBlocks},
                       {"flops", kernel.flops},
                       {"matrix_flops", kernel.matrixFlops},
                       {"matrix_type", kernel.matrixType},
                       {"special_ops", kernel.specialOps},
                       {"min_bytes", kernel.minBytes},
                       {"scratch_bytes", kernel.scratchBytes}});
  }
  const MemoryPlan &plan = function.plan;
  size_t objectBytes = 0;
  for (const std::vector<uint8_t> &object : function.objects)
    objectBytes += object.size();
  return Json{{"name", function.name},
              {"arguments", reportSignature(function.arguments, true)},
              {"results", reportSignature(function.results, false)},
              {"flops", flops},
              {"kernels", std::move(kernels)},
              {"images", reportImages(function, facts)},
              {"commands",
               {{"launch", counts.of(Command::Kind::Launch)},
                {"groups", counts.of(Command::Kind::Launch) - counts.together},
                {"copy", counts.of(Command::Kind::Copy)},
                {"fill", counts.of(Command::Kind::Fill)},
                {"repeat", counts.of(Command::Kind::Repeat)}}},
              {"plan",
               {{"threads", threads},
                {"arg_mb", mib(plan.argBytes)},
                {"out_mb", mib(plan.outBytes)},
                {"temp_mb", mib(plan.tempBytes(threads))},
                {"alias_mb", mib(plan.aliasBytes)},
                {"footprint_mb", mib(plan.footprintBytes(threads))},
                {"work_mb", mib(plan.workBytes)},
                {"arena_mb", mib(plan.arenaBytes)},
                {"max_live_mb", mib(plan.maxLiveBytes)},
                {"scratch_mb_per_thread", mib(plan.scratchBytesPerThread)},
                {"hash", hex(plan.planHash)}}},
              {"object_bytes", objectBytes},
              {"constant_bytes", function.constants.size()}};
}

Json heddle::reportProgram(const Program &program, int threads,
                           const KernelFactsOf &facts) {
  Json functions = Json::array();
  for (const Function &function : program.functions)
    functions.push_back(reportFunction(function, threads, facts));
  return Json{{"target", program.target},
              {"isa", program.isa},
              {"isa_features", program.isaFeatures},
              {"producer", program.producer},
              {"functions", std::move(functions)}};
}

void heddle::printFunctionReport(const Function &function, int threads,
                                 std::ostream &os, const KernelFactsOf &facts) {
  CommandCounts counts(function);
  os << "function " << function.name << "\n";
  printSignature("arguments", function.arguments, os);
  printSignature("results", function.results, os);

  size_t width = 4;
  for (const KernelInfo &kernel : function.kernels)
    width = std::max(width, kernel.name.size());
  int column = static_cast<int>(width);
  os << format("  kernels\n    %-*s  %-11s %8s %8s %12s %12s  %s\n", column,
               "name", "family", "launches", "blocks", "MFLOP", "min MiB",
               "description");
  for (size_t i = 0; i < function.kernels.size(); ++i) {
    const KernelInfo &kernel = function.kernels[i];
    os << format(
        "    %-*s  %-11s %8" PRId64 " %8" PRId64 " %12.3f %12.3f  %s\n", column,
        kernel.name.c_str(), kernel.family.c_str(), counts.launches[i],
        kernel.numBlocks, static_cast<double>(kernel.flops) * 1e-6,
        mib(kernel.minBytes), kernel.description.c_str());
  }
  int64_t launches = counts.of(Command::Kind::Launch);
  os << "  commands: " << launches << " launch";
  if (int64_t groups = launches - counts.together; groups < launches)
    os << " in " << groups << (groups == 1 ? " group" : " groups");
  os << ", "
     << counts.of(Command::Kind::Copy) << " copy, "
     << counts.of(Command::Kind::Fill) << " fill, "
     << counts.of(Command::Kind::Repeat) << " repeat\n";

  printImages(function, facts, os);

  const MemoryPlan &plan = function.plan;
  os << format("  memory in MiB with %d thread%s\n", threads,
               threads == 1 ? "" : "s")
     << format("    arg %.3f  out %.3f  temp %.3f  alias %.3f  footprint %.3f"
               "  work %.3f\n",
               mib(plan.argBytes), mib(plan.outBytes),
               mib(plan.tempBytes(threads)), mib(plan.aliasBytes),
               mib(plan.footprintBytes(threads)), mib(plan.workBytes))
     << format("    arena %.3f  max-live %.3f  scratch per thread %.3f"
               "  plan %s\n",
               mib(plan.arenaBytes), mib(plan.maxLiveBytes),
               mib(plan.scratchBytesPerThread), hex(plan.planHash).c_str());
}

void heddle::printProgramReport(const Program &program, int threads,
                                std::ostream &os, const KernelFactsOf &facts) {
  os << "target " << program.target << ", " << program.isa << ", made by "
     << program.producer << "\n";
  for (const Function &function : program.functions) {
    os << "\n";
    printFunctionReport(function, threads, os, facts);
  }
}
