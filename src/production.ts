// Imported before all else: without it Elysia starts in its development mode, which a request can make work for
// seconds. The build defines the same.
Object.assign(process.env, { NODE_ENV: 'production' })

export {}
