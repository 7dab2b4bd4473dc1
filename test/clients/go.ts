import { cpSync } from 'node:fs'
import { Folder, startSandbox } from '../support/process'

// Runs a generated Go client against a sandbox (npm run test:clients). Skips if there is no Go or no module proxy.

const generator = 'github.com/oapi-codegen/oapi-codegen/v2'

using folder = new Folder()
await using sandbox = await startSandbox()
const { baseUrl, openapiUrl } = sandbox.report

function run(words: string): boolean {
  console.log(`== go ${words}`)
  const { success, stderr } = Bun.spawnSync(['go', ...words.split(' ')], {
    cwd: folder.path,
    env: { ...process.env, ANTEROOM_BASE_URL: baseUrl, ANTEROOM_TOKEN: sandbox.token() },
    stdio: ['ignore', 'inherit', 'pipe'],
  })
  // These lines are from Go itself. All other lines are warnings.
  const said = stderr.toString().replaceAll(/^go: (downloading|added|upgraded) .*\n/gm, '')
  if (said) console.error(said)
  return success && !said
}

if (!Bun.which('go')) console.log('skipped: there is no go')
else if (!run(`mod download ${generator}@v2.8.2`)) console.log('skipped: the module proxy cannot be reached')
else {
  cpSync(new URL('go', import.meta.url).pathname, folder.path, { recursive: true })
  await Bun.write(folder.file('go.mod'), 'module example.com/partner\n\ngo 1.26\n')
  await Bun.write(folder.file('api/openapi.json'), await (await fetch(openapiUrl)).text())
  const isCorrect = [
    `run ${generator}/cmd/oapi-codegen@v2.8.2 -generate types,client -package api -o api/api.go api/openapi.json`,
    'get github.com/oapi-codegen/runtime@v1.9.0',
    'vet ./...',
    'run .',
  ].every(run)
  process.exitCode = isCorrect ? 0 : 1
}
