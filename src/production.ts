// Must be imported first. Elysia's default is development mode, in which a request can take seconds of CPU time.
Object.assign(process.env, { NODE_ENV: 'production' })

export {}
