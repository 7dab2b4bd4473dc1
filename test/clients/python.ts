import { cpSync } from 'node:fs'
import { Folder, startSandbox } from '../support/process'

// Runs a generated Python client and schemathesis against a sandbox (npm run test:clients). Installs its tools in a
// temporary folder. Skips if there is no suitable Python or no package index.

using folder = new Folder()
const sources = new URL('python', import.meta.url).pathname
const inVenv = (name: string) => folder.file(`venv/bin/${name}`)

const missing = install()
if (missing) console.log(`skipped: ${missing}`)
else process.exitCode = await check()

/** Installs the tools. Returns null, or why they cannot be installed here. */
function install(): string | null {
  if (!Bun.which('python3')) return 'there is no python3'
  const isEnough = 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))'
  if (!run('python3', ['-c', isEnough]).success) return 'python3 is older than 3.11 or has no venv'
  run('python3', ['-m', 'venv', folder.file('venv')])
  const pip = ['-m', 'pip', '--disable-pip-version-check', '--no-input', '--retries', '1', '--timeout', '15']
  const installed = run(inVenv('python'), [...pip, 'install', '-q', '-r', `${sources}/requirements.txt`])
  if (installed.success) return null
  const said = installed.stderr.toString()
  // pip prints this if it cannot reach the package index.
  if (said.includes('from versions: none')) return 'the package index cannot be reached'
  throw new Error(said)
}

async function check(): Promise<number> {
  cpSync(sources, folder.path, { recursive: true })
  await using sandbox = await startSandbox()
  const { baseUrl, openapiUrl, controlUrl, controlToken } = sandbox.report
  // Schemathesis often uses request 1, which is the deactivated member's.
  const member = `${controlUrl}partners/Harbourlight/members/member-deactivated/reactivate`
  await fetch(member, { method: 'POST', headers: { Authorization: `Bearer ${controlToken}` } })
  const environment = {
    ...process.env,
    // The client generator looks for its formatter on the PATH.
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
    // python/refusals.py replaces the excluded check, and explains why.
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
