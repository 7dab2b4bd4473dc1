import { timeouts } from '../../db/postgres/client/timeouts'

const real = { ...timeouts }
const tenfold = Object.fromEntries(Object.entries(real).map(([what, millis]) => [what, millis * 10]))
// A transaction left idle is an error, so that limit stays as in the program.
const long = { ...tenfold, idle: real.idle }

/** Multiplies all timeouts by ten, because a busy machine may stall for longer than a partner has to wait. */
export const useLongTimeouts = () => void Object.assign(timeouts, long)

/** For tests of the timeouts themselves. */
export const useRealTimeouts = () => void Object.assign(timeouts, real)
