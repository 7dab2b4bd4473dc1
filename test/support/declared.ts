import { type Endpoint, refusalsOf } from '../../src/http/endpoints/endpoint'
import { endpoints } from '../../src/http/endpoints/endpoints'
import { type ErrorCode, errorCodes } from '../../src/http/errors'

/** Returns a message if the endpoint does not declare the error code of the answer. */
export function undeclaredError(
  method: string,
  path: string,
  code: string,
  among: readonly Endpoint[] = endpoints,
): string | null {
  const there = among.filter((endpoint) => patternOf(endpoint.path).test(path))
  if (there.length === 0)
    return code === 'path_unknown' ? null : `${path} answers ${code}, but is not an endpoint`
  const endpoint = there.find((one) => one.method === (method === 'HEAD' ? 'GET' : method))
  const beforeMethod = ['https_required', 'authentication_limited', 'method_not_allowed']
  if (!endpoint && (beforeMethod.includes(code) || errorCodes[code as ErrorCode]?.status === 401)) return null
  if (endpoint && Object.hasOwn(refusalsOf(endpoint), code)) return null
  return `${method} ${path} answers ${code}, which it does not declare`
}

/** Returns a pattern of the path. A slash at the end of the path is optional. */
function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+').replace(/\/$/, '/?')}$`)
}
