import './production'
import { logUnanswered, run } from './cli/program'

for (const event of ['uncaughtException', 'unhandledRejection'] as const) process.on(event, logUnanswered)

process.exitCode = await run(process.argv.slice(2))
