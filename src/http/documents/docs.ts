import { Elysia } from 'elysia'
import icon from 'swagger-ui-dist/favicon-32x32.png' with { type: 'file' }
import license from 'swagger-ui-dist/LICENSE' with { type: 'file' }
import notice from 'swagger-ui-dist/NOTICE' with { type: 'file' }
import { version } from 'swagger-ui-dist/package.json'
import swaggerStyles from 'swagger-ui-dist/swagger-ui.css' with { type: 'file' }
import bundle from 'swagger-ui-dist/swagger-ui-bundle.js' with { type: 'file' }
import bundleLicense from 'swagger-ui-dist/swagger-ui-bundle.js.LICENSE.txt' with { type: 'file' }
import type { RequestedSlot } from '../../domain/booking-request'
import { perMinute } from '../../domain/limits'
import { memo } from '../../domain/memo'
import { listSandboxPartners } from '../../operations/directory-loads'
import { findExampleSlot } from '../../operations/offer-slots'
import type { Endpoint } from '../endpoints/endpoint'
import { exampleSlot } from '../endpoints/fields'
import type { Serving } from '../gate'
import type { Forwarding } from '../listening/behind-proxy'
import { type LogEntry, logEntryOf } from '../log'
import { addressBudgets } from '../rate-limits'
import { type Document, prefersGzip, toDocument } from '../representation'
import { pageOf, script, styles } from './page'

/** Swagger UI's files below /docs, with their media types. The imports embed the files in the executable. */
const files: Record<string, readonly [file: string, type: string]> = {
  'swagger-ui.css': [swaggerStyles, 'text/css; charset=utf-8'],
  'swagger-ui-bundle.js': [bundle, 'text/javascript; charset=utf-8'],
  'favicon-32x32.png': [icon, 'image/png'],
  // The bundle refers to this license file. The license requires LICENSE and NOTICE in every copy.
  'swagger-ui-bundle.js.LICENSE.txt': [bundleLicense, 'text/plain; charset=utf-8'],
  LICENSE: [license, 'text/plain; charset=utf-8'],
  NOTICE: [notice, 'text/plain; charset=utf-8'],
}

/** Allows only files of this service and data: URLs. The style sheet contains small images as data: URLs. */
const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Rate limit of each client address. Loading /docs takes 7 requests. */
const documentsRate = perMinute(600)

const fresh = (text: string, type: string) =>
  // Clients must revalidate the document, because it may change with each release.
  toDocument(text, type, 'no-cache')

/** Serves the documents without a token. In a sandbox, / redirects to /docs, and there is no rate limit. */
export function documents(
  endpoints: readonly Endpoint[],
  { context, baseUrl, isSandbox }: Serving,
  { clientOf, refusePlain }: Forwarding,
) {
  const { clock } = context
  const spend = addressBudgets('documents', 'rate_limited', () => (isSandbox ? null : documentsRate), clock)
  const openApi = memo(1, (slot) => makeOpenApi(endpoints, baseUrl, JSON.parse(slot)))
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
  const findSlot = () => (isSandbox && findExampleSlot(context, clock.now())) || exampleSlot
  serve('/openapi.json', () => openApi(JSON.stringify(findSlot())))
  const page = memo(2, (path) => fresh(pageOf(path, version), 'text/html; charset=utf-8'))
  const start = fresh(script(isSandbox), 'text/javascript; charset=utf-8')
  const style = fresh(styles, 'text/css; charset=utf-8')
  serve('/docs', page)
  serve('/docs/start.js', () => start)
  serve('/docs/page.css', () => style)
  for (const [name, [file, type]] of Object.entries(files)) {
    // The URLs contain the version, so clients can cache the files permanently.
    const document = toDocument(Bun.file(file), type, 'public, max-age=31536000, immutable')
    serve(`/docs/${name}`, () => document)
  }
  // Location is relative, because the public address may have a path prefix.
  if (isSandbox) {
    const tokens = () => listSandboxPartners(context, clock.now())
    serve('/docs/tokens.json', async () => fresh(JSON.stringify(await tokens()), 'application/json'))
    app.get('/', ({ request }) => {
      const headers = { ...logEntryOf(request).headers, Location: 'docs' }
      return new Response(null, { status: 302, headers })
    })
  }
  return app
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
