import { expect, test } from 'bun:test'
import { exitCodes } from '../../src/cli/exit-code'
import { parseMetrics } from '../support/metrics'
import { Operator } from '../support/operator'
import { eventually } from '../support/process'

test('cli: serve serves its metrics on --metrics-port, and fails if that port is in use', async () => {
  using operator = new Operator()
  await operator.do('init')
  const other = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() })
  const { port } = other
  const serve = ['serve', '--port', '0', '--base-url', 'https://api.example', '--metrics-port']
  const { code, stderr } = await operator.run([...serve, String(port)])
  await other.stop(true)
  // A --port in use leads to the same exit code. After this exit code, systemd restarts the service until the port is
  // free.
  expect([code, stderr.split('\n').slice(-3).join('\n')]).toEqual([
    exitCodes.failed,
    `error: port ${port} of 127.0.0.1 is in use\nTry: another --metrics-port\n`,
  ])
  await using service = await operator.serve('--metrics-port', '0')
  const metricsLine = /^Metrics on (http:\/\/127\.0\.0\.1:\d+\/metrics)$/m
  await eventually('the metrics port on stdout', () => metricsLine.test(service.stdout))
  const url = metricsLine.exec(service.stdout)?.[1] as string
  const metrics = parseMetrics(await (await fetch(url)).text())
  expect(metrics.get('anteroom_ready')?.series).toEqual(new Map([['anteroom_ready', 1]]))
  const [build = ''] = metrics.get('anteroom_build_info')?.series.keys() ?? []
  expect(build).toMatch(
    /^anteroom_build_info\{version="\d+\.\d+\.\d+",commit="\w[\w-]*",schema="\d+",bun="1\.4\.5"\}$/,
  )
  expect(await service.stop('SIGTERM')).toMatchObject({ code: 0, signal: null })
  await expect(fetch(url)).rejects.toThrow()
})
