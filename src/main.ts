import { run } from './cli/program'

process.exitCode = await run(process.argv.slice(2))
