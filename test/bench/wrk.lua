-- The wrk script of the benchmark. Prints the result of a round as a line of JSON.
-- With COUNT, FIRST and PATH it requests that many pages of a path, each once, and then ends the round.

local ffi = require("ffi")
ffi.cdef [[ typedef struct { long seconds, micros; } moment; int gettimeofday(moment *, void *); ]]

local function now()
  local moment = ffi.new("moment")
  ffi.C.gettimeofday(moment, nil)
  return tonumber(moment.seconds) * 1e6 + tonumber(moment.micros)
end

-- wrk calls the function once before it begins, as a test.
local calls = -1
local begun

local function walk(count, first, path)
  return function()
    calls = calls + 1
    if calls == 1 then begun = now() end
    if calls > count then
      taken = now() - begun
      wrk.thread:stop()
    end
    return wrk.format(nil, path .. (first + calls % count))
  end
end

function init(args)
  if args[1] then request = walk(tonumber(args[1]), tonumber(args[2]), args[3]) end
end

local thread

function setup(made)
  thread = made
end

function done(summary)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"micros":%d,"bytes":%d,"refused":%d,"broken":%d}\n',
    summary.requests,
    thread:get("taken") or summary.duration,
    summary.bytes,
    errors.status,
    errors.connect + errors.read + errors.write + errors.timeout
  ))
end
