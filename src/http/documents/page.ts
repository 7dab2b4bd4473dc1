import guide from '../../../docs/integrating.md' with { type: 'text' }
import { codesTable } from './openapi-responses'

/** Converts Markdown. Links to other files become text, because the service does not serve these files. */
function toHtml(markdown: string): string {
  return Bun.markdown
    .html(markdown, { headings: { ids: true } })
    .replaceAll(/<a href="(?!#)[^"]*">(.*?)<\/a>/gs, '$1')
    .replaceAll('<pre>', '<pre tabindex="0">')
}

/** Returns the guide, the operations and the error codes as a page with relative URLs, for `/docs` or `/docs/`. */
export function pageOf(path: string, version: string): string {
  const below = path.endsWith('/') ? '' : 'docs/'
  const main = `<article>${toHtml(guide)}</article>
<section>
  <h2 id="operations">Operations</h2>
  <p>Programs read them in <a href="${below}../openapi.json">openapi.json</a> (OpenAPI 3.1).</p>
  <noscript><p>This list needs JavaScript.</p></noscript>
  <fieldset id="tokens" hidden><legend>Use a token of this sandbox</legend></fieldset>
  <div id="lists"><div id="api"></div><div id="control"></div></div>
</section>
<section>${toHtml(`## Error codes\n\n${codesTable}`)}</section>`
  const headings = main.matchAll(/<h2 id="([^"]*)">(.*?)<\/h2>/g)
  const contents = Array.from(headings, ([, id, title]) => `<a href="#${id}">${title}</a>`)
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Partner Intake and Scheduling API</title>
<link rel="icon" href="${below}favicon-32x32.png?v=${version}">
<link rel="stylesheet" href="${below}swagger-ui.css?v=${version}">
<link rel="stylesheet" href="${below}page.css">
<nav aria-label="Contents">${contents.join('')}</nav>
<main>${main}</main>
<script src="${below}swagger-ui-bundle.js?v=${version}"></script>
<script src="${below}start.js"></script>
`
}

const offerTokens = `
shown.then(async (ui) => {
  const tokens = document.getElementById('tokens')
  for (const { name, state, token } of await load('docs/tokens.json')) {
    const radio = Object.assign(document.createElement('input'), { type: 'radio', name: 'token' })
    radio.onchange = () => ui.preauthorizeApiKey('bearer', token)
    tokens.appendChild(document.createElement('label')).append(radio, name + ' (' + state + ')')
  }
  tokens.hidden = false
})
show('docs/sandbox.json', 'control', [])`

// URLs are relative to the script, because the public path of /docs can have a prefix. The observer adds labels.
/** Only a sandbox sends calls: elsewhere bookings are real, and tokens must not reach a browser. */
export const script = (isSandbox: boolean) => `const root = new URL('..', document.currentScript.src)
const load = async (path) => (await fetch(new URL(path, root))).json()
const onlyOperations = ({ React: { createElement, Fragment, useState }, ...system }) => ({
  components: {
    Lean: () => createElement('div', { className: 'swagger-ui' }, createElement(system.getComponent('operations', true))),
  },
  wrapComponents: {
    authorizeOperationBtn: () => () => null,
    response: (Response) => (props) => {
      const [isOpen, open] = useState(false)
      if (props.code < 400) return createElement(Response, props)
      const codes = props.response.getIn(['content', 'application/json', 'examples'])
      const button = createElement('button', { 'aria-expanded': isOpen, onClick: () => open(!isOpen) },
        createElement('b', null, props.code), codes && codes.keySeq().join(', '))
      const row = createElement('tr', { className: 'folded' }, createElement('td', { colSpan: 3 }, button))
      return createElement(Fragment, null, row, isOpen && createElement(Response, props))
    },
  },
})
const show = async (path, id, supportedSubmitMethods) => {
  const list = document.getElementById(id)
  new MutationObserver(() => {
    for (const field of list.querySelectorAll('input, select, textarea'))
      field.ariaLabel ??= field.closest('[data-param-name]')?.dataset.paramName ?? 'Example'
    for (const button of list.querySelectorAll('.json-schema-2020-12-accordion')) button.ariaLabel ??= button.textContent || 'Schema'
    for (const table of list.querySelectorAll('table[role]')) table.role = null
    for (const pre of list.querySelectorAll('pre:not([tabindex])')) pre.tabIndex = 0
  }).observe(list, { childList: true, subtree: true })
  return SwaggerUIBundle({
    spec: { ...(await load(path)), servers: [{ url: root.href.replace(/[/]$/, '') }] },
    domNode: list,
    layout: 'Lean',
    plugins: [onlyOperations],
    supportedSubmitMethods,
    ...{ syntaxHighlight: false, validatorUrl: null, persistAuthorization: false },
  })
}
const shown = show('openapi.json', 'api', ${isSandbox ? "['get', 'post']" : '[]'})${isSandbox ? offerTokens : ''}
`

export const styles = `:root { --text: #1f2933; --muted: #52606d; --line: #d9dee4; --back: #fff; --soft: #f4f6f8; --link: #0b5cad }
@media (prefers-color-scheme: dark) { :root { color-scheme: dark; --text: #e4e7eb; --muted: #a7b1bc; --line: #3a424b; --back: #15191d; --soft: #1f252b; --link: #85bdff } }
body { margin: 0; color: var(--text); background: var(--back); font: 16px/1.6 system-ui, sans-serif }
nav { display: none }
nav a { display: block; padding: 4px 0; color: var(--muted); font-size: 14px; line-height: 1.35; text-decoration: none }
a { color: var(--link) }
main { max-width: 58rem; margin: 0 auto; padding: 1rem 1rem 4rem }
main h2 { margin: 3rem 0 1rem; padding-top: 1.5rem; border-top: 1px solid var(--line); font-size: 1.4rem; line-height: 1.3 }
table { width: 100%; margin-bottom: 1rem; border-collapse: collapse; font-size: 14px; line-height: 1.5 }
main :is(th, td) { padding: 6px 12px 6px 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
code { font: 0.875em ui-monospace, monospace }
pre { padding: 1rem; overflow-x: auto; border-radius: 6px; background: var(--soft); font-size: 14px; line-height: 1.5 }
#tokens { margin: 1rem 0; padding: 0.5rem 1rem; border: 1px solid var(--line); border-radius: 6px }
#tokens label { display: inline-block; margin-right: 1.5rem; cursor: pointer }
#lists * { color: var(--text); fill: currentcolor; font-family: system-ui, sans-serif; text-shadow: none }
#lists .wrapper { max-width: none; padding: 0 }
#lists :is(code, pre, pre *, .opblock-summary-path *, textarea) { font-family: ui-monospace, monospace }
#lists :is(pre, textarea, .example) { color: var(--text); background: var(--soft) !important; font-size: 13px; font-weight: 400 }
#lists :is(.opblock, .opblock-section-header, select, input) { border-color: var(--line); background-color: var(--back); box-shadow: none; font-weight: 400 }
#lists :is([class*=json-schema], .execute, .download-contents) { background: var(--soft) }
#lists .opblock-summary-method { min-width: 64px; padding: 4px 0; color: var(--link); background: none }
#lists .opblock-tag { flex-wrap: wrap; padding: 8px 0; border: 0; font-size: 1.1rem }
#lists :is(.response-col_links, .response-control-media-type, .copy-to-clipboard, .headers :is(td, th):nth-child(3)) { display: none }
#lists .folded button { width: 100%; padding: 4px 0 4px 5rem; border: 0; background: none; font-size: 14px; line-height: 1.5; text-align: left; text-indent: -5rem }
#lists .folded b { display: inline-block; width: 5rem; text-indent: 0 }
#lists .folded b::before { content: '▸ ' }
#lists :is(.headers td, .header-example, .parameter__name) { font-weight: 400 }
#lists .parameter__name::after { color: var(--muted) }
#lists .parameters-col_name { min-width: 7.5rem; padding-right: 1rem }
@media (max-width: 40rem) {
  main :is(td, code) { overflow-wrap: anywhere }
  main > * > table td:first-child { min-width: 7.5rem }
  #lists .opblock-summary-description { display: none }
  #lists .opblock-tag small { order: 1; flex: 1 0 100%; padding: 0 }
}
@media (min-width: 75rem) {
  body { padding-left: 15rem }
  nav { display: block; position: fixed; inset: 0 auto 0 0; width: 12rem; padding: 2rem 1.5rem; overflow-y: auto; border-right: 1px solid var(--line) }
}
`
