//===- Unet.cpp - convolutions along the last axis of an image ------------===//
//
// A convolution is a product of the positions' windows, side by side, with the
// kernel as a matrix (taps x channels, channels).
//
//===----------------------------------------------------------------------===//

#include "models/Unet.h"
#include "models/Network.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace heddle::bench {

namespace {

constexpr int64_t kColours = 3, kGroups = 32, kLevels = 3;
constexpr int64_t kChannels[kLevels] = {64, 128, 256};
constexpr double kUnetNormEps = 1e-6;

/// Positions (batch * height * width) by channels.
struct Image {
  Value value;
  int64_t width, channels;
};

class Unet final : public Network {
public:
  explicit Unet(const UnetConfig &config)
      : config(config), lines(config.batch * config.resolution) {}

  void parameters(Layers &layers) const override;
  void inputs(Layers &layers) const override {
    layers.graph.argument(
        "x", {config.batch, config.resolution, config.resolution, kColours},
        layers.element);
  }
  Value forward(Layers &layers) const override;

private:
  void declareBlock(Layers &layers, const std::string &name, int64_t in,
                    int64_t out) const;
  Image block(Layers &layers, const std::string &name, Image x) const;
  Value norm(Layers &layers, StringRef name, Image x) const;
  Value windows(Layers &layers, Image x, ArrayRef<int64_t> taps,
                int64_t stride) const;
  Image convolve(Layers &layers, StringRef name, Image x, int64_t taps,
                 int64_t stride, int64_t out) const;
  Image widen(Layers &layers, StringRef name, Image x, int64_t out) const;
  Image join(Layers &layers, Image a, Image b) const;

  const UnetConfig &config;
  const int64_t lines; // rows of pixels in the batch
};

void Unet::declareBlock(Layers &layers, const std::string &name, int64_t in,
                        int64_t out) const {
  layers.declareNorm(name + ".norm1", in);
  layers.declareLinear(name + ".conv1", 3 * in, out);
  layers.declareNorm(name + ".norm2", out);
  layers.declareLinear(name + ".conv2", 3 * out, out);
  layers.declareLinear(name + ".skip", in, out, /*bias=*/false);
}

void Unet::parameters(Layers &layers) const {
  layers.declareLinear("in", kColours, kChannels[0], /*bias=*/false);
  for (int64_t i = 0; i < kLevels; ++i) {
    std::string n = std::to_string(i);
    declareBlock(layers, "down" + n, kChannels[i], kChannels[i]);
    if (i + 1 < kLevels)
      layers.declareLinear("narrow" + n, 4 * kChannels[i], kChannels[i + 1]);
  }
  for (const char *name : {"mid0", "mid1"})
    declareBlock(layers, name, kChannels[kLevels - 1], kChannels[kLevels - 1]);
  for (int64_t i = kLevels; i-- > 0;) {
    std::string n = std::to_string(i);
    declareBlock(layers, "up" + n, 2 * kChannels[i], kChannels[i]);
    if (i > 0)
      layers.declareLinear("widen" + n, 4 * kChannels[i], kChannels[i - 1]);
  }
  layers.declareLinear("out", 2 * kChannels[0], kColours, /*bias=*/false);
}

/// GroupNorm over the image and the channels of a group, then SiLU.
Value Unet::norm(Layers &layers, StringRef name, Image x) const {
  GraphBuilder &graph = layers.graph;
  int64_t per = x.channels / kGroups, height = config.resolution;
  double count = static_cast<double>(height * x.width * per);
  Type f32 = graph.f32();
  Value wide = graph.reshape(graph.cast(x.value, f32),
                             {config.batch, height, x.width, kGroups, per});
  auto scaleBy = [&](Value v, double factor) {
    return graph.mapAll({v}, f32,
                        [&](OpBuilder &b, Location l, ValueRange v) -> Value {
                          return arith::MulFOp::create(
                              b, l, v[0], GraphBuilder::constant(b, l, factor));
                        });
  };
  // One axis after the other: partial sums keep their digits.
  auto total = [&](Value perPixel) {
    Value perLine = graph.sum({perPixel, "bhwgc"}, "bhgc");
    return graph.sum({graph.sum({perLine, "bhgc"}, "bgc"), "bgc"}, "bg");
  };
  Value mean = scaleBy(total(wide), 1 / count);
  Value centred =
      graph.map({{wide, "bhwgc"}, {mean, "bg"}}, "bhwgc", f32,
                [](OpBuilder &b, Location l, ValueRange v) -> Value {
                  return arith::SubFOp::create(b, l, v[0], v[1]);
                });
  Value squares = graph.mapAll(
      {centred}, f32, [](OpBuilder &b, Location l, ValueRange v) -> Value {
        return arith::MulFOp::create(b, l, v[0], v[0]);
      });
  Value rstd = graph.mapAll(
      {scaleBy(total(squares), 1 / count)}, f32,
      [](OpBuilder &b, Location l, ValueRange v) -> Value {
        Value shifted = arith::AddFOp::create(
            b, l, v[0], GraphBuilder::constant(b, l, kUnetNormEps));
        return math::RsqrtOp::create(b, l, shifted);
      });
  auto grouped = [&](const char *part) {
    return graph.reshape(layers.param((name + part).str()), {kGroups, per});
  };
  Value normed =
      graph.map({{centred, "bhwgc"},
                 {rstd, "bg"},
                 {grouped(".scale"), "gc"},
                 {grouped(".bias"), "gc"}},
                "bhwgc", layers.element,
                [&](OpBuilder &b, Location l, ValueRange v) -> Value {
                  Value unit = arith::MulFOp::create(b, l, v[0], v[1]);
                  Value scaled = arith::MulFOp::create(b, l, unit, v[2]);
                  Value sum = arith::AddFOp::create(b, l, scaled, v[3]);
                  return GraphBuilder::convert(b, l, sum, layers.element);
                });
  return graph.reshape(layers.silu(normed), {lines * x.width, x.channels});
}

/// The pixels at the given distances from each position, channels side by side;
/// zeros beyond the image.
Value Unet::windows(Layers &layers, Image x, ArrayRef<int64_t> taps,
                    int64_t stride) const {
  GraphBuilder &graph = layers.graph;
  OpBuilder &ops = graph.ops();
  int64_t before = -std::min<int64_t>(0, *llvm::min_element(taps));
  int64_t width = x.width / stride;
  int64_t last = (width - 1) * stride + *llvm::max_element(taps);
  int64_t behind = std::max<int64_t>(0, last - (x.width - 1));
  Value image = graph.reshape(x.value, {lines, x.width, x.channels});
  Value zero = arith::ConstantOp::create(ops, graph.loc(),
                                         ops.getZeroAttr(layers.element));
  auto at = [&](int64_t n) -> OpFoldResult { return ops.getIndexAttr(n); };
  SmallVector<OpFoldResult> low = {at(0), at(before), at(0)},
                            high = {at(0), at(behind), at(0)};
  auto type = RankedTensorType::get(
      {lines, before + x.width + behind, x.channels}, layers.element);
  Value padded =
      tensor::PadOp::create(ops, graph.loc(), type, image, low, high, zero);
  SmallVector<Value> parts;
  for (int64_t tap : taps) {
    SmallVector<OpFoldResult> offsets = {at(0), at(before + tap), at(0)},
                              sizes = {at(lines), at(width), at(x.channels)},
                              strides = {at(1), at(stride), at(1)};
    parts.push_back(tensor::ExtractSliceOp::create(ops, graph.loc(), padded,
                                                   offsets, sizes, strides));
  }
  Value joined = parts.size() == 1 ? parts[0]
                                   : tensor::ConcatOp::create(ops, graph.loc(),
                                                              /*dim=*/2, parts)
                                         .getResult();
  return graph.reshape(
      joined, {lines * width, static_cast<int64_t>(taps.size()) * x.channels});
}

/// As wide as the image / stride.
Image Unet::convolve(Layers &layers, StringRef name, Image x, int64_t taps,
                     int64_t stride, int64_t out) const {
  SmallVector<int64_t> distances;
  for (int64_t tap = 0; tap < taps; ++tap)
    distances.push_back(tap - 1);
  Value rows = windows(layers, x, distances, stride);
  return {layers.linear(name, rows), x.width / stride, out};
}

/// A transposed convolution of 4 taps and stride 2: even positions see the
/// pixel before and their own, odd ones their own and the next. The kernel
/// holds the taps of the even positions, then those of the odd ones.
Image Unet::widen(Layers &layers, StringRef name, Image x, int64_t out) const {
  GraphBuilder &graph = layers.graph;
  Value kernel =
      graph.cast(layers.param((name + ".kernel").str()), layers.element);
  SmallVector<Value> halves;
  for (int64_t odd : {0, 1}) {
    Value taps = graph.slice(kernel, 0, odd * 2 * x.channels, 2 * x.channels);
    Value product = graph.matmul(windows(layers, x, {odd - 1, odd}, 1), taps);
    halves.push_back(graph.reshape(product, {lines * x.width, 1, out}));
  }
  Value both =
      tensor::ConcatOp::create(graph.ops(), graph.loc(), /*dim=*/1, halves);
  both = graph.reshape(both, {2 * lines * x.width, out});
  Value bias = layers.param((name + ".bias").str());
  Value sum =
      graph.map({{both, "rc"}, {bias, "c"}}, "rc", layers.element,
                [&](OpBuilder &b, Location l, ValueRange v) -> Value {
                  Value sum = arith::AddFOp::create(b, l, v[0], v[1]);
                  return GraphBuilder::convert(b, l, sum, layers.element);
                });
  return {sum, 2 * x.width, out};
}

Image Unet::join(Layers &layers, Image a, Image b) const {
  GraphBuilder &graph = layers.graph;
  Value both = tensor::ConcatOp::create(graph.ops(), graph.loc(), /*dim=*/1,
                                        ValueRange{a.value, b.value});
  return {both, a.width, a.channels + b.channels};
}

Image Unet::block(Layers &layers, const std::string &name, Image x) const {
  int64_t out =
      cast<RankedTensorType>(layers.param(name + ".conv2.bias").getType())
          .getDimSize(0);
  Image inner{norm(layers, name + ".norm1", x), x.width, x.channels};
  inner = convolve(layers, name + ".conv1", inner, 3, 1, out);
  inner.value = norm(layers, name + ".norm2", inner);
  inner = convolve(layers, name + ".conv2", inner, 3, 1, out);
  Value skip = layers.linear(name + ".skip", x.value);
  return {layers.add(inner.value, skip), x.width, out};
}

Value Unet::forward(Layers &layers) const {
  GraphBuilder &graph = layers.graph;
  int64_t r = config.resolution;
  Value pixels = graph.reshape(graph.get("x"), {lines * r, kColours});
  Image first{layers.linear("in", pixels), r, kChannels[0]}, x = first;
  SmallVector<Image> skips;
  for (int64_t i = 0; i < kLevels; ++i) {
    std::string n = std::to_string(i);
    x = block(layers, "down" + n, x);
    skips.push_back(x);
    if (i + 1 < kLevels)
      x = convolve(layers, "narrow" + n, x, 4, 2, kChannels[i + 1]);
  }
  x = block(layers, "mid0", x);
  x = block(layers, "mid1", x);
  for (int64_t i = kLevels; i-- > 0;) {
    std::string n = std::to_string(i);
    x = block(layers, "up" + n, join(layers, skips[i], x));
    if (i > 0)
      x = widen(layers, "widen" + n, x, kChannels[i - 1]);
  }
  Value out = layers.linear("out", join(layers, first, x).value);
  return graph.reshape(out, {config.batch, r, r, kColours});
}

} // namespace

Status buildUnet(MLIRContext &context, const UnetConfig &config, Model &model) {
  if (config.resolution % 4 != 0 || config.resolution < 4)
    return Status::error("expected a resolution divisible by 4, got " +
                         std::to_string(config.resolution) +
                         "; the image is halved twice");
  return buildNetwork(context, Unet(config), config.dtype, config.op, model);
}

} // namespace heddle::bench
