import { timeouts } from '../../db/postgres/client/timeouts'

const real = { ...timeouts }
const tenfold = Object.fromEntries(Object.entries(real).map(([what, millis]) => [what, millis * 10]))
// The timeout of idle transactions does not change. An idle transaction is an error of the program.
const long = { ...tenfold, idle: real.idle }

/** Multiplies all timeouts by ten, because a busy machine may stall. */
export const useLongTimeouts = () => void Object.assign(timeouts, long)

/** For tests of the timeouts themselves. */
export const useRealTimeouts = () => void Object.assign(timeouts, real)
