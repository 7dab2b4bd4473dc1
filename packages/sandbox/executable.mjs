import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const { name, optionalDependencies } = require('./package.json')
const platform = `${process.platform}-${process.arch}`
const platformPackage = `@anteroom/sandbox-${platform}`

// These variables may be set for another program. The runtime in the executable would use them too.
const runtimeVariable = /^BUN_(BE_BUN|OPTIONS|INSPECT\w*|JSC_\w+|BYTECODE_\w+)$/i

const needsGlibc =
  'the executable needs glibc, but this Linux has musl (for example Alpine); use an image with glibc, such as node:24-slim'

/**
 * Returns the path of the executable for this system. An optional dependency of this package contains it.
 *
 * @throws Error with one line that says why there is none
 */
export function findExecutable() {
  try {
    return require.resolve(`${platformPackage}/bin/anteroom${process.platform === 'win32' ? '.exe' : ''}`)
  } catch {
    throw fault(whyMissing())
  }
}

export function environment() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !runtimeVariable.test(name)))
}

/** The error of an executable that could not be started. */
export function startFault({ code }) {
  if (code === 'ENOENT' && hasMusl()) return fault(needsGlibc)
  return fault(`the executable of ${platformPackage} cannot be started (${code})`)
}

function whyMissing() {
  if (!(platformPackage in optionalDependencies)) {
    const platforms = Object.keys(optionalDependencies).map((each) => each.replace('@anteroom/sandbox-', ''))
    return `there is no executable for ${platform}, only for ${platforms.join(', ')}`
  }
  if (hasMusl()) return needsGlibc
  return `${platformPackage} is not installed; install ${name} again on this system, without --omit=optional`
}

/** True on a Linux without glibc. */
function hasMusl() {
  if (process.platform !== 'linux') return false
  // By default, the report makes DNS queries for the addresses of open connections.
  process.report.excludeNetwork = true
  return process.report.getReport().header.glibcVersionRuntime === undefined
}

export function fault(why) {
  return new Error(`${name}: ${why}`)
}
