// Must be imported first: otherwise Elysia starts in development mode, in which a request can take seconds of CPU time.
Object.assign(process.env, { NODE_ENV: 'production' })

export {}
