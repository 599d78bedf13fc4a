/** The Dockerfile, as far as it can be tried without a builder of images: its parts, and the check of health run as it stands. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, matchesGlob } from 'node:path'
import { promisify } from 'node:util'
import { DockerfileParser, type Instruction } from 'dockerfile-ast'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { PROJECT, page } from './pages.ts'

const read = (name: string): string => readFileSync(join(PROJECT, name), 'utf8')
const dockerfile = DockerfileParser.parse(read('Dockerfile'))
const instructions = dockerfile.getInstructions()
const told = (keyword: string): string[] =>
  instructions
    .filter((one) => one.getKeyword() === keyword)
    .map((one: Instruction) => one.getRawArgumentsContent() ?? '')

const Manifest = z.object({
  bin: z.record(z.string(), z.string()),
  files: z.array(z.string()),
  scripts: z.record(z.string(), z.string()),
})
const manifest = Manifest.parse(JSON.parse(read('package.json')))

describe('the image', () => {
  it('has the Node of the project, in both stages', () => {
    const { packages } = z
      .object({ packages: z.record(z.string(), z.looseObject({ version: z.string().optional() })) })
      .parse(JSON.parse(read('package-lock.json')))
    const [major] = packages['node_modules/node']?.version?.split('.') ?? []
    const images = dockerfile.getFROMs().map((from) => from.getImage())
    expect(images).toHaveLength(2)
    // Of Debian: the launcher needs an `env` that knows -S, and glibc's settings of memory (decision 13).
    for (const image of images) expect(image).toBe(`node:${major}-bookworm-slim`)
  })

  it('runs as somebody else than root, whose the home is, and keeps nothing outside of it', () => {
    expect(told('USER')).toEqual(['node'])
    const last = instructions.map((one) => one.getKeyword())
    expect(last.lastIndexOf('RUN')).toBeLessThan(last.indexOf('USER'))
    const [home = ''] = /WAYBILL_HOME=(\S+)/.exec(told('ENV').join())?.slice(1) ?? []
    const [volume = ''] = told('VOLUME')
    expect(home.startsWith(`${volume}/`)).toBe(true)
    expect(told('RUN').join()).toContain(`install -d -o node -g node -m 0700 ${volume}`)
  })

  it('starts the command of the package', () => {
    const [command = ''] = z.tuple([z.string()]).parse(JSON.parse(told('ENTRYPOINT')[0] ?? ''))
    expect(Object.keys(manifest.bin)).toEqual([command])
    expect(told('CMD')).toEqual(['["schedule"]'])
  })

  it('is made without what holds health data or credentials, and with all that the package is made of', () => {
    const ignored = read('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
    const isIgnored = (name: string): boolean => ignored.some((pattern) => matchesGlob(name, pattern))
    for (const name of ['.env', '.waybill', 'inbox', 'report.html', 'node_modules', '.git'])
      expect([name, isIgnored(name)]).toEqual([name, true])
    const parts = [
      ...[
        'src',
        'packages',
        'build',
        'package.json',
        'package-lock.json',
        'tsconfig.json',
        'tsconfig.build.json',
      ],
      ...manifest.files.filter((name) => name !== 'dist'),
    ]
    for (const name of parts) expect([name, isIgnored(name)]).toEqual([name, false])
  })

  it.each([
    [200, 0],
    [503, 1],
  ])('asks for its health: %i is %i', async (status, code) => {
    const server = createServer((request, response) => {
      expect(request.url).toBe('/health')
      response.writeHead(status).end()
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    expect(await health(`127.0.0.1:${(server.address() as AddressInfo).port}`)).toBe(code)
  })

  it('is well while a run by hand serves no health', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    expect(await health(String(port))).toBe(0)
  })

  it('is told of where programs are deployed', () => {
    expect(page('docs/deploy.md')).toContain('docker build -t waybill:0.1.0 .')
  })
})

/** The check, as it stands in the Dockerfile. */
async function health(metrics: string): Promise<number> {
  const command = told('HEALTHCHECK')[0]?.replace(/^.*?CMD /s, '') ?? ''
  const [, ...parameters] = z.array(z.string()).parse(JSON.parse(command))
  const env = { ...process.env, WAYBILL_METRICS: metrics }
  return promisify(execFile)(process.execPath, parameters, { env }).then(
    () => 0,
    ({ code }: { code: number }) => code,
  )
}
