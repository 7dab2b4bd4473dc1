import { cpSync } from 'node:fs'
import { Folder, startSandbox } from '../support/process'

// A partner who writes Python, and schemathesis with all its checks, beside a sandbox (npm run test:clients). It installs
// what it needs in a temporary folder; where there is no Python or no package index it says so and is done.

using folder = new Folder()
const sources = new URL('python', import.meta.url).pathname
const inVenv = (name: string) => folder.file(`venv/bin/${name}`)

const missing = install()
if (missing) console.log(`skipped: ${missing}`)
else process.exitCode = await check()

/** Why the tools cannot be had here; null once they are there. */
function install(): string | null {
  if (!Bun.which('python3')) return 'there is no python3'
  const isEnough = 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))'
  if (!run('python3', ['-c', isEnough]).success) return 'python3 is older than 3.11 or has no venv'
  run('python3', ['-m', 'venv', folder.file('venv')])
  const pip = ['-m', 'pip', '--disable-pip-version-check', '--no-input', '--retries', '1', '--timeout', '15']
  const installed = run(inVenv('python'), [...pip, 'install', '-q', '-r', `${sources}/requirements.txt`])
  if (installed.success) return null
  const said = installed.stderr.toString()
  // Of an index that cannot be reached pip says that it has no version of anything.
  if (said.includes('from versions: none')) return 'no package index answers'
  throw new Error(said)
}

async function check(): Promise<number> {
  cpSync(sources, folder.path, { recursive: true })
  await using sandbox = await startSandbox()
  const { baseUrl, openapiUrl } = sandbox.report
  const environment = {
    ...process.env,
    // The generator formats what it writes by a tool that it looks for there.
    PATH: `${folder.file('venv/bin')}:${process.env.PATH}`,
    ANTEROOM_URL: baseUrl,
    ANTEROOM_TOKEN: sandbox.token(),
    ANTEROOM_TOKEN_WITHOUT_ORGANIZATION: sandbox.token('no_organization'),
  }
  const steps: Record<string, string[]> = {
    generate: [
      ...['openapi-python-client', 'generate', '--url', openapiUrl, '--fail-on-warning'],
      ...['--meta', 'none', '--output-path', 'partner_api'],
    ],
    types: ['mypy', 'partner_api', 'partner.py', 'refusals.py'],
    call: ['python', 'partner.py'],
    // python/refusals.py stands in for the check that is left out, and says why.
    schemathesis: [
      ...[
        'schemathesis',
        'run',
        openapiUrl,
        '--mode',
        'all',
        '--max-examples',
        '100',
        '--continue-on-failure',
      ],
      ...['--checks', 'all', '--exclude-checks', 'positive_data_acceptance'],
    ],
  }
  let code = 0
  for (const [step, [name = '', ...words]] of Object.entries(steps)) {
    console.log(`== ${step}`)
    const { exitCode } = Bun.spawnSync([inVenv(name), ...words], {
      cwd: folder.path,
      env: environment,
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    if (exitCode !== 0) code = 1
  }
  return code
}

function run(name: string, words: readonly string[]) {
  return Bun.spawnSync([name, ...words], { stdin: 'ignore', stdout: 'ignore', stderr: 'pipe' })
}
