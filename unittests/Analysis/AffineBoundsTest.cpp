#include "MaskTestSupport.h"
