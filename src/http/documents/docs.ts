import { Elysia } from 'elysia'
import icon from 'swagger-ui-dist/favicon-32x32.png' with { type: 'file' }
import license from 'swagger-ui-dist/LICENSE' with { type: 'file' }
import notice from 'swagger-ui-dist/NOTICE' with { type: 'file' }
import { version } from 'swagger-ui-dist/package.json'
import styles from 'swagger-ui-dist/swagger-ui.css' with { type: 'file' }
import bundle from 'swagger-ui-dist/swagger-ui-bundle.js' with { type: 'file' }
import bundleLicense from 'swagger-ui-dist/swagger-ui-bundle.js.LICENSE.txt' with { type: 'file' }
import type { RequestedSlot } from '../../domain/booking-request'
import { perMinute } from '../../domain/limits'
import { findExampleSlot } from '../../operations/offer-slots'
import type { Endpoint } from '../endpoints/endpoint'
import { exampleSlot } from '../endpoints/fields'
import type { Serving } from '../gate'
import type { Forwarding } from '../listening/behind-proxy'
import { type LogEntry, logEntryOf } from '../log'
import { addressBudgets } from '../rate-limits'
import { type Document, prefersGzip, toDocument } from '../representation'

/** Swagger UI's files below /docs, with their media types. The imports embed the files in the executable. */
const files: Record<string, readonly [file: string, type: string]> = {
  'swagger-ui.css': [styles, 'text/css; charset=utf-8'],
  'swagger-ui-bundle.js': [bundle, 'text/javascript; charset=utf-8'],
  'favicon-32x32.png': [icon, 'image/png'],
  // The bundle refers to this license file. The license requires LICENSE and NOTICE in every copy.
  'swagger-ui-bundle.js.LICENSE.txt': [bundleLicense, 'text/plain; charset=utf-8'],
  LICENSE: [license, 'text/plain; charset=utf-8'],
  NOTICE: [notice, 'text/plain; charset=utf-8'],
}

/** Allows only files of this service and data: URLs. The style sheet contains small images as data: URLs. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Disables "Try it out" outside the sandbox: bookings are real, and tokens must not reach a browser. */
const readAlone = `
      supportedSubmitMethods: [],
      plugins: [() => ({ wrapComponents: { authorizeBtn: () => () => null, authorizeOperationBtn: () => () => null } })],`

// Finds openapi.json relative to this script, because the public path of /docs can have a prefix.
const script = (options: string) => `const root = new URL('..', document.currentScript.src)
const dark = matchMedia('(prefers-color-scheme: dark)')
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', follow)
follow()
fetch(new URL('openapi.json', root))
  .then((answer) => answer.json())
  .then((spec) => {
    spec.servers = [{ url: root.href.replace(/[/]$/, '') }]
    SwaggerUIBundle({
      spec,
      dom_id: '#operations',
      validatorUrl: null,
      persistAuthorization: false,${options}
    })
  })
`

const ownStyles = `body { margin: 0 }
html.dark-mode { background: #1c2022; color-scheme: dark }
.swagger-ui .info table { border-collapse: collapse; font-size: 14px }
.swagger-ui .info :is(th, td) { padding: 4px 8px; text-align: left; vertical-align: top }
@media (max-width: 640px) {
  .swagger-ui .wrapper { padding: 0 8px }
  .swagger-ui .info table, .swagger-ui .parameters, .swagger-ui .responses-table { display: block; overflow-x: auto }
  .swagger-ui .opblock .opblock-summary-path { max-width: none; word-break: break-all }
  .swagger-ui .opblock .opblock-summary-description { display: none }
}
`

const page = (below: string) => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Partner Intake and Scheduling API</title>
    <link rel="icon" href="${below}favicon-32x32.png?v=${version}">
    <link rel="stylesheet" href="${below}swagger-ui.css?v=${version}">
    <link rel="stylesheet" href="${below}page.css">
  </head>
  <body>
    <div id="operations"></div>
    <script src="${below}swagger-ui-bundle.js?v=${version}"></script>
    <script src="${below}start.js"></script>
  </body>
</html>
`

/** Rate limit of each client address. Loading /docs takes 7 requests. */
const documentsRate = perMinute(600)

const fresh = (text: string, type: string) =>
  // Clients must revalidate the document, because it may change with each release.
  toDocument(text, type, 'no-cache')

const scriptType = 'text/javascript; charset=utf-8'
const [startToTry, startToRead] = [fresh(script(''), scriptType), fresh(script(readAlone), scriptType)]

const ownFiles = {
  '/docs/page.css': fresh(ownStyles, 'text/css; charset=utf-8'),
}

/** The URLs contain the version, so clients can cache the files permanently. */
const filesBelow = Object.fromEntries(
  Object.entries(files).map(([name, [file, type]]) => [
    `/docs/${name}`,
    toDocument(Bun.file(file), type, 'public, max-age=31536000, immutable'),
  ]),
)

const pageType = 'text/html; charset=utf-8'
const [pageWithSlash, pageWithoutSlash] = [fresh(page(''), pageType), fresh(page('docs/'), pageType)]

/** Serves the documents without a token. In a sandbox, / redirects to /docs, and there is no rate limit. */
export function documents(
  endpoints: readonly Endpoint[],
  { context, baseUrl, isSandbox }: Serving,
  { clientOf, refusePlain }: Forwarding,
) {
  const { clock } = context
  const spend = addressBudgets('documents', 'rate_limited', () => (isSandbox ? null : documentsRate), clock)
  const openApi = openApiDocuments(endpoints, baseUrl)
  const app = new Elysia({ name: 'documents' })
  const serve = (path: string, find: (path: string) => Document | Promise<Document>) => {
    app.get(path, async ({ request, path: asked }) => {
      const entry = logEntryOf(request)
      entry.route = path
      const plain = refusePlain(request, entry)
      if (plain) return plain
      const refusal = spend(clientOf(request), entry.headers)
      if (refusal) throw refusal
      return answer(await find(asked), request.headers.get('accept-encoding'), entry)
    })
  }
  serve('/openapi.json', () => openApi((isSandbox && findExampleSlot(context, clock.now())) || exampleSlot))
  serve('/docs', (path) => (path.endsWith('/') ? pageWithSlash : pageWithoutSlash))
  serve('/docs/start.js', () => (isSandbox ? startToTry : startToRead))
  for (const [path, document] of Object.entries({ ...ownFiles, ...filesBelow })) serve(path, () => document)
  // Location is relative, because the public address may have a path prefix.
  if (isSandbox) {
    app.get('/', ({ request }) => {
      const headers = { ...logEntryOf(request).headers, Location: 'docs' }
      return new Response(null, { status: 302, headers })
    })
  }
  return app
}

function openApiDocuments(endpoints: readonly Endpoint[], baseUrl: string) {
  const made = new Map<string, Promise<Document>>()
  return (slot: RequestedSlot): Promise<Document> => {
    const key = `${slot.providerId} ${slot.startsAt}`
    const document = made.get(key) ?? makeOpenApi(endpoints, baseUrl, slot)
    made.clear()
    made.set(key, document)
    return document
  }
}

/** The generator is loaded at the first request, for a faster start. */
async function makeOpenApi(...asked: [readonly Endpoint[], baseUrl: string, slot: RequestedSlot]) {
  const { openApiDocument } = await import('./openapi')
  return fresh(await openApiDocument(...asked), 'application/json')
}

async function answer(document: Document, acceptEncoding: string | null, entry: LogEntry): Promise<Response> {
  const { plain, compressed, type, caching } = document
  const isCompressed = compressed && prefersGzip(acceptEncoding)
  const body = isCompressed ? await compressed() : plain
  entry.bytes = body instanceof Blob ? body.size : Buffer.byteLength(body)
  return new Response(body, {
    headers: {
      ...entry.headers,
      'Content-Type': type,
      'Cache-Control': caching,
      ...(compressed && { Vary: 'Accept-Encoding' }),
      ...(isCompressed && { 'Content-Encoding': 'gzip' }),
      'Content-Security-Policy': contentSecurityPolicy,
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
    },
  })
}
