// The reference for the start time: a minimal server.
const answer = { id: 1, name: 'small' }
const { port } = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  development: false,
  fetch: () => Response.json(answer),
})
console.log(`Listening on 127.0.0.1 port ${port}`)
