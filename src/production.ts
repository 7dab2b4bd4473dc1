const { NODE_ENV } = process.env

// Must be imported first. Elysia's default is development mode, in which a request can take seconds of CPU time.
Object.assign(process.env, { NODE_ENV: 'production' })

/** The environment for a command of the operator: that of this process, with its own NODE_ENV. */
export function commandEnvironment(more: Readonly<Record<string, string | undefined>>) {
  return { ...process.env, NODE_ENV, ...more }
}
