import { Elysia } from 'elysia'
import icon from 'swagger-ui-dist/favicon-32x32.png' with { type: 'file' }
import license from 'swagger-ui-dist/LICENSE' with { type: 'file' }
import notice from 'swagger-ui-dist/NOTICE' with { type: 'file' }
import { version } from 'swagger-ui-dist/package.json'
import styles from 'swagger-ui-dist/swagger-ui.css' with { type: 'file' }
import bundle from 'swagger-ui-dist/swagger-ui-bundle.js' with { type: 'file' }
import bundleLicense from 'swagger-ui-dist/swagger-ui-bundle.js.LICENSE.txt' with { type: 'file' }
import { findExampleSlot } from '../operations/free-slots'
import type { Endpoint } from './endpoint'
import { exampleSlot } from './examples'
import type { Serving } from './gate'
import { openApiDocument } from './openapi'

/** Swagger UI's files below /docs, embedded in a binary by these imports: each with its type. */
const files: Record<string, readonly [file: string, type: string]> = {
  'swagger-ui.css': [styles, 'text/css; charset=utf-8'],
  'swagger-ui-bundle.js': [bundle, 'text/javascript; charset=utf-8'],
  'favicon-32x32.png': [icon, 'image/png'],
  // The bundle names its licenses' file; the license and notice go with every copy.
  'swagger-ui-bundle.js.LICENSE.txt': [bundleLicense, 'text/plain; charset=utf-8'],
  LICENSE: [license, 'text/plain; charset=utf-8'],
  NOTICE: [notice, 'text/plain; charset=utf-8'],
}

/** Nothing but what this service serves; Swagger UI's style sheet holds its small images itself. */
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

// Its own address tells where the document is, whatever stands before /docs in public, and where calls go: to
// where the page came from, by whichever of its names the service was reached.
const script = `const root = new URL('..', document.currentScript.src)
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
      persistAuthorization: false,
    })
  })
`

/** What Swagger UI leaves to be desired on a narrow screen, where its tables would not fit. */
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

/** The page, whose files are found `below` its own address. */
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

/**
 * The documents, which need no token: /openapi.json, and /docs, a page to read it and try it out with. The
 * sandbox leads to the page from its root, and its examples book a slot that is free when they are asked for.
 */
export function documents(endpoints: readonly Endpoint[], { context, baseUrl, isSandbox }: Serving) {
  const made = new Map<string, Promise<string>>()
  const app = new Elysia({ name: 'documents' })
    .get('/openapi.json', async () => {
      const slot = (isSandbox && findExampleSlot(context, context.clock.now())) || exampleSlot
      const key = `${slot.providerId} ${slot.startsAt}`
      const document = made.get(key) ?? openApiDocument(endpoints, baseUrl, slot)
      // The slot of a moment ago is asked for no more.
      made.clear()
      made.set(key, document)
      return fresh(await document, 'application/json')
    })
    .get('/docs', ({ path }) => fresh(page(path.endsWith('/') ? '' : 'docs/'), 'text/html; charset=utf-8'))
    .get('/docs/start.js', () => fresh(script, 'text/javascript; charset=utf-8'))
    .get('/docs/page.css', () => fresh(ownStyles, 'text/css; charset=utf-8'))
  // Told relative to the root, before which there may be more in public.
  if (isSandbox) app.get('/', () => new Response(null, { status: 302, headers: { Location: 'docs' } }))
  for (const [name, [file, type]] of Object.entries(files)) {
    // The page asks for them by version, so what was once fetched holds.
    app.get(`/docs/${name}`, () => reply(Bun.file(file), type, 'public, max-age=31536000, immutable'))
  }
  return app
}

/** What may change with each release, so it is asked for each time. */
function fresh(text: string, type: string): Response {
  return reply(text, type, 'no-cache')
}

function reply(content: string | Blob, type: string, caching: string): Response {
  return new Response(content, {
    headers: {
      'Content-Type': type,
      'Cache-Control': caching,
      'Content-Security-Policy': contentSecurityPolicy,
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
    },
  })
}
