import { startSandbox } from '../support/process'

// Runs fixtures/arazzo.yaml with Redocly Respect against a sandbox (npm run respect).

await using sandbox = await startSandbox()
const { baseUrl } = sandbox.report
const words = ['respect', 'fixtures/arazzo.yaml', '--server', `api=${baseUrl}`, ...process.argv.slice(2)]
const respect = Bun.spawn([process.execPath, 'node_modules/@redocly/cli/bin/cli.js', ...words], {
  env: {
    ...process.env,
    REDOCLY_TELEMETRY: 'off',
    REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
    // Every user of the machine can read the arguments of a process, so the token is in the environment.
    REDOCLY_CLI_RESPECT_INPUT: `token=${sandbox.token()},idempotencyKey=${crypto.randomUUID()}`,
  },
  stdio: ['ignore', 'inherit', 'inherit'],
})
process.exitCode = await respect.exited
