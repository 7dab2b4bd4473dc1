// Runs a program under ptrace: bun tracer.ts TRACE END STEP PROGRAM [ARGUMENT]… Writes the system calls of the program
// to TRACE, and exits with the exit code or signal of the program. Kills the program before disk step number STEP on
// files whose names end in END. STEP 0 never kills the program.
import { cc, ptr } from 'bun:ffi'
import { closeSync, openSync } from 'node:fs'
import { constants } from 'node:os'
import { callTable } from './trace'

const [path = '', end = '', step, ...words] = process.argv.slice(2)
const { symbols } = cc({
  source: new URL('./tracer.c', import.meta.url).pathname,
  symbols: { trace: { args: ['ptr', 'int', 'ptr', 'int', 'ptr', 'int'], returns: 'int' } },
})

const texts = words.map((word) => Buffer.from(`${word}\0`))
const argv = BigUint64Array.from([...texts.map((text) => BigInt(ptr(text))), 0n])
const calls = BigUint64Array.from(callTable.flat().map(BigInt))
const file = openSync(path, 'w', 0o600)
const ending = Buffer.from(`${end}\0`)
const status = symbols.trace(ptr(argv), file, ptr(calls), callTable.length, ptr(ending), Number(step))
closeSync(file)
if (status < 0) {
  console.error(`the program cannot be traced: error ${-status}`)
  process.exit(125)
}
const signal = Object.entries(constants.signals).find(([, number]) => number === (status & 0x7f))?.[0]
if (!signal) process.exit(status >> 8)
process.kill(process.pid, signal)
// A signal may take a moment to arrive.
setTimeout(() => {}, 10_000)
