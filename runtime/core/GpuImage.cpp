//===- GpuImage.cpp - names and versions of GPU code ----------------------===//

#include "heddle/Runtime/GpuImage.h"

namespace heddle {

const char *gpuImageKindName(GpuImageKind kind) {
  switch (kind) {
  case GpuImageKind::Ptx:
    return "ptx";
  case GpuImageKind::Cubin:
    return "cubin";
  case GpuImageKind::Emulator:
    return "emulator";
  }
  return "?";
}

bool parseGpuArch(const std::string &name, GpuArch &arch) {
  if (name.compare(0, 3, "sm_") != 0)
    return false;
  size_t end = 3;
  int sm = 0;
  for (; end < name.size() && name[end] >= '0' && name[end] <= '9'; ++end) {
    if (end == 6)
      return false;
    sm = 10 * sm + (name[end] - '0');
  }
  if (end < 5)
    return false;
  char specific = 0;
  if (end + 1 == name.size() && (name[end] == 'a' || name[end] == 'f'))
    specific = name[end++];
  if (end != name.size())
    return false;
  arch = {sm, specific};
  return true;
}

uint32_t newestPtxOfCuda(int cudaVersion) {
  // PTX ISA manual, "Release Notes": the CUDA release that brought each
  // version.
  static constexpr struct {
    int cuda;
    uint32_t ptx;
  } kReleases[] = {
      {13010, 91}, {13000, 90}, {12090, 88}, {12080, 87}, {12070, 86},
      {12050, 85}, {12040, 84}, {12030, 83}, {12020, 82}, {12010, 81},
      {12000, 80}, {11080, 78}, {11070, 77}, {11060, 76}, {11050, 75},
      {11040, 74}, {11030, 73}, {11020, 72}, {11010, 71}, {11000, 70},
  };
  for (const auto &release : kReleases)
    if (cudaVersion >= release.cuda)
      return release.ptx;
  return 0;
}

std::string ptxVersionText(uint32_t ptxVersion) {
  return std::to_string(ptxVersion / 10) + '.' +
         std::to_string(ptxVersion % 10);
}

std::string cudaVersionText(int cudaVersion) {
  return std::to_string(cudaVersion / 1000) + '.' +
         std::to_string(cudaVersion % 1000 / 10);
}

} // namespace heddle
