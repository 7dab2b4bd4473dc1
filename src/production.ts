// Import first: otherwise Elysia starts in development mode, in which a request can cost seconds of CPU.
Object.assign(process.env, { NODE_ENV: 'production' })

export {}
