import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { connect } from 'node:tls'
import { Folder } from '../support/folder'

/** The server name in the examples of deploy/. */
export const hostName = 'api.example.org'

/** A proxy that runs an example of deploy/ on free local ports. */
export interface TlsProxy extends AsyncDisposable {
  readonly httpsPort: number
  readonly httpPort: number
  /** Returns the text of the proxy's output and of all its log files. */
  logs(): string
}

export const proxyNames = ['nginx', 'haproxy'] as const
type ProxyName = (typeof proxyNames)[number]
type Start = (servicePort: number) => Promise<TlsProxy>

/** A start function for each proxy, with the example configuration. */
export const proxies: Record<ProxyName, Start> = {
  nginx: startNginx,
  haproxy: startHaproxy,
}

/** Returns whether a program is installed. */
export const has = (program: string): boolean => Bun.which(program) !== null

/** Uses deploy/nginx.conf with other ports, another certificate and other log paths. */
async function startNginx(servicePort: number): Promise<TlsProxy> {
  const { folder, httpPort, httpsPort } = await prepare()
  const site = example('nginx.conf')
    .replaceAll(/^ *listen \[::].*\n/gm, '')
    .replaceAll('listen 80 ', `listen 127.0.0.1:${httpPort} `)
    .replaceAll('listen 443 ', `listen 127.0.0.1:${httpsPort} `)
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${servicePort}`)
    .replaceAll('/etc/ssl/anteroom', folder.path)
    .replaceAll('/var/log/nginx', folder.path)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `${kind}_temp_path ${folder.file(kind)};`)
    .join('\n')
  const whole = `user root;\npid ${folder.file('pid')};\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n${temporary}\n${site}}\n`
  writeFileSync(folder.file('nginx.conf'), whole)
  const words = ['nginx', '-p', folder.path, '-c', folder.file('nginx.conf'), '-g', 'daemon off;']
  return await started(
    words,
    {},
    { folder, httpPort, httpsPort, files: ['anteroom.log', 'anteroom-error.log'] },
  )
}

/**
 * Uses deploy/haproxy.cfg with other ports and certificates, no user, and one node without TLS or health
 * checks.
 */
async function startHaproxy(servicePort: number): Promise<TlsProxy> {
  const { folder, httpPort, httpsPort } = await prepare()
  const pem = ['fullchain.pem', 'privkey.pem'].map((name) => readFileSync(folder.file(name), 'utf8')).join('')
  writeFileSync(folder.file('anteroom.pem'), pem)
  const site = example('haproxy.cfg')
    .replaceAll(/^\t(user|group|chroot) .*\n/gm, '')
    .replace('bind :80', `bind 127.0.0.1:${httpPort}`)
    .replace('bind :443', `bind 127.0.0.1:${httpsPort}`)
    .replaceAll('/etc/haproxy/tls/anteroom.pem', folder.file('anteroom.pem'))
    .replace('default-server check ', 'default-server ')
    .replace(' ssl verify required ca-file /etc/haproxy/tls/nodes-ca.pem', '')
    .replaceAll(/^\tserver .*\n/gm, '')
  writeFileSync(folder.file('haproxy.cfg'), `${site}\tserver node1 127.0.0.1:${servicePort}\n`)
  const words = ['haproxy', '-db', '-f', folder.file('haproxy.cfg')]
  return await started(words, {}, { folder, httpPort, httpsPort, files: ['stdout'] })
}

function example(name: string): string {
  return readFileSync(new URL(`../../deploy/${name}`, import.meta.url), 'utf8')
}

async function prepare() {
  const folder = new Folder()
  const names = ['-subj', `/CN=${hostName}`, '-addext', `subjectAltName=DNS:${hostName}`]
  const files = ['-keyout', folder.file('privkey.pem'), '-out', folder.file('fullchain.pem')]
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  const { exitCode } = Bun.spawnSync(['openssl', 'req', '-x509', ...key, ...names, ...files])
  if (exitCode !== 0) throw new Error('openssl makes no certificate')
  return { folder, httpPort: await freePort(), httpsPort: await freePort() }
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}

interface Prepared {
  readonly folder: Folder
  readonly httpPort: number
  readonly httpsPort: number
  readonly files: readonly string[]
}

async function started(
  words: string[],
  env: Record<string, string>,
  { folder, httpPort, httpsPort, files }: Prepared,
): Promise<TlsProxy> {
  const outputFile = folder.file('said')
  const child = Bun.spawn(words, {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdin: 'ignore',
    stdout: Bun.file(folder.file('stdout')),
    stderr: Bun.file(outputFile),
  })
  const logs = () => [outputFile, ...files.map((name) => folder.file(name))].map(textOf).join('')
  const deadline = performance.now() + 10_000
  while (!(await answers(httpsPort))) {
    if (child.exitCode !== null || performance.now() > deadline) {
      child.kill('SIGKILL')
      throw new Error(`${words[0]} does not start: ${logs()}`)
    }
    await Bun.sleep(20)
  }
  return {
    httpPort,
    httpsPort,
    logs,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await child.exited
      folder[Symbol.dispose]()
    },
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

const answers = async (port: number) => (await send(port, [], { momentMillis: 1 })) !== null

/**
 * `text` is everything that was received in response to the sent bytes. `statuses` are the HTTP statuses in `text`, in
 * order.
 */
export interface Received {
  readonly statuses: readonly number[]
  readonly text: string
}

interface Sending {
  /** Stops reading after this many milliseconds without data. */
  readonly momentMillis?: number
  /** The pause between sending two parts, in milliseconds. */
  readonly pauseMillis?: number
}

/**
 * Sends the parts unchanged over TLS, and reads until the connection closes or no more data arrives. Returns null
 * if nothing listens on the port.
 */
export function send(
  port: number,
  parts: readonly string[],
  { momentMillis = 400, pauseMillis = 0 }: Sending = {},
): Promise<Received | null> {
  return new Promise((resolve) => {
    let text = ''
    let isConnected = false
    let over: Timer | undefined
    const finish = () => {
      clearTimeout(over)
      socket.destroy()
      const statuses = [...text.matchAll(/HTTP\/1\.[01] (\d{3})/g)].map(([, status]) => Number(status))
      resolve(isConnected ? { statuses, text } : null)
    }
    const await_ = () => {
      clearTimeout(over)
      over = setTimeout(finish, momentMillis)
    }
    const socket = connect(
      {
        host: '127.0.0.1',
        port,
        servername: hostName,
        rejectUnauthorized: false,
        ALPNProtocols: ['http/1.1'],
      },
      async () => {
        isConnected = true
        for (const part of parts) {
          if (socket.destroyed) return
          socket.write(Buffer.from(part, 'latin1'))
          if (pauseMillis) await Bun.sleep(pauseMillis)
        }
        await_()
      },
    )
    socket.on('data', (part: Buffer) => {
      text += part.toString('latin1')
      if (over) await_()
    })
    socket.on('close', finish)
    socket.on('error', finish)
  })
}
