import { type Endpoint, refusalsOf } from '../../src/http/endpoints/endpoint'
import { endpoints } from '../../src/http/endpoints/endpoints'
import { type ErrorCode, errorCodes } from '../../src/http/errors'

/**
 * What is wrong with a refusal that was answered, where its endpoint, and with it the document, does not declare
 * it; null if it does. A path that no endpoint has may be unknown, and a method that none takes may be refused.
 */
export function undeclared(
  method: string,
  path: string,
  code: string,
  among: readonly Endpoint[] = endpoints,
): string | null {
  const there = among.filter((endpoint) => patternOf(endpoint.path).test(path))
  if (there.length === 0) return code === 'path_unknown' ? null : `${path} answers ${code} and is no endpoint`
  const endpoint = there.find((one) => one.method === (method === 'HEAD' ? 'GET' : method))
  const beforeMethod = ['https_required', 'authentication_limited', 'method_not_allowed']
  if (!endpoint && (beforeMethod.includes(code) || errorCodes[code as ErrorCode]?.status === 401)) return null
  if (endpoint && Object.hasOwn(refusalsOf(endpoint), code)) return null
  return `${method} ${path} answers ${code}, which it does not declare`
}

/** The paths that an endpoint answers to, with and without the last slash. */
function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+').replace(/\/$/, '/?')}$`)
}
