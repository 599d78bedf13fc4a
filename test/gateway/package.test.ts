import { type ExecFileOptions, execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { blocks, page } from '../docs/pages.ts'
import { json, serve } from './loopback.ts'

const PROJECT = fileURLToPath(new URL('../../', import.meta.url))
const BIN = join(PROJECT, 'node_modules', '.bin')
/** The compiler ends before collecting garbage would pay: a quarter of its time. */
const COMPILER = { GOGC: 'off' }

/** Runs a command to its end. Compilers tell what is wrong on standard output, which a failure is to show. */
const run = (command: string, args: readonly string[], options: ExecFileOptions = {}) =>
  promisify(execFile)(command, args, { ...options, encoding: 'utf8' }).catch(
    (error: Error & { stdout: string }) => {
      throw new Error(`${error.message}\n${error.stdout}`)
    },
  )

/** A program of a user of the package. It prints what it learnt from the gateway at the address it is given. */
const CONSUMER = `
import {
  type Account, Age, type AgeResult, type AnswerClass, type Biometrics, type CreateAnswer, createGateway, documented, type Gateway,
  GatewayError, type GatewaySettings, MedicalRecordsRequestSent, WaybillError,
} from 'waybill'

const options: GatewaySettings = {
  baseUrl: process.argv[2] ?? '',
  apiKey: 'the-key',
  accessToken: 'the-token',
  spelling: { subType: 'subType' },
}
const gateway: Gateway = createGateway(options)
const biometrics: Biometrics = gateway.biometrics
const account: Account = { reference: 'p-1', type: 'partnerAccountId' }
const created: CreateAnswer = await biometrics.sendBulk('[{}]', 1)
const age: AgeResult | undefined = await gateway.ageAssessment.result(account)
const refused: AnswerClass | undefined = await gateway.accounts.delete(account).then(
  () => undefined,
  (error: unknown) => (error instanceof GatewayError ? error.class : undefined),
)
let wrongSetting: string | undefined
try {
  createGateway({ ...options, baseUrl: 'nowhere' })
} catch (error) {
  if (error instanceof WaybillError) wrongSetting = error.code
}
const valid: boolean = MedicalRecordsRequestSent.safeParse({}).success
// @ts-expect-error: the types reach the consumer, so that a call that is not there does not compile
void gateway.biometrics.remove
// @ts-expect-error: nor does a reference of a type that cannot be sent
const wrong: Account = { reference: 'p-1', type: 'entity' }
gateway.close()
console.log(JSON.stringify({ class: created.class, year: documented(Age, age?.bioAge)?.year, refused, wrongSetting, valid, wrong: wrong.type }))
`

const COMPILED = {
  strict: true,
  exactOptionalPropertyTypes: true,
  target: 'es2024',
  module: 'nodenext',
  types: ['node'],
  skipLibCheck: false,
}

/** Programs of the page. */
const PROGRAMS = blocks(page('docs/library.md'), 'ts')

let folder: string
let consumer: string

/** Packs a copy of the project, which holds no build, and puts the package where a consumer's node_modules has it. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'waybill-package-'))
  const source = join(folder, 'build', 'source')
  consumer = join(folder, 'consumer')
  const modules = join(consumer, 'node_modules')
  const manifest: { files: string[]; dependencies: Record<string, string> } = JSON.parse(
    await readFile(join(PROJECT, 'package.json'), 'utf8'),
  )
  await mkdir(modules, { recursive: true })
  const copied = [
    'src',
    'packages',
    'build',
    'package.json',
    'README.md',
    'LICENSE',
    'tsconfig.json',
    ...manifest.files,
  ]
  for (const name of copied.filter((one) => one !== 'dist')) {
    await cp(join(PROJECT, name), join(source, name), { recursive: true })
  }
  // `npm run check` has checked the types of what is built here.
  const build = JSON.parse(await readFile(join(PROJECT, 'tsconfig.build.json'), 'utf8'))
  Object.assign(build.compilerOptions, { noCheck: true, sourceMap: false })
  await writeFile(join(source, 'tsconfig.build.json'), JSON.stringify(build))
  // What an earlier build left must not be packed.
  await mkdir(join(source, 'dist'))
  await writeFile(join(source, 'dist', 'removed.js'), '')
  await symlink(join(PROJECT, 'node_modules'), join(folder, 'build', 'node_modules'))
  await run('npm', ['pack', '--pack-destination', folder], {
    cwd: source,
    env: {
      ...process.env,
      ...COMPILER,
      npm_config_offline: 'true',
      npm_config_cache: join(folder, 'cache'),
    },
  })
  const tarball = (await readdir(folder)).find((name) => name.endsWith('.tgz')) ?? ''
  await run('tar', ['-xzf', join(folder, tarball), '-C', folder])
  await cp(join(folder, 'package'), join(modules, 'waybill'), { recursive: true })
  // Only what the package declares, and Node's types, which any program for Node has.
  for (const name of [...Object.keys(manifest.dependencies), '@types/node']) {
    await mkdir(dirname(join(modules, name)), { recursive: true })
    await symlink(join(PROJECT, 'node_modules', name), join(modules, name))
  }
  // All that is compiled against it, at once.
  await writeFile(join(consumer, 'package.json'), '{"type":"module"}')
  const sources = [CONSUMER, ...PROGRAMS].map((text, at) => [
    at === 0 ? 'program' : `library-${at - 1}`,
    text,
  ])
  for (const [name, text = ''] of sources) await writeFile(join(consumer, `${name}.ts`), text)
  const files = sources.map(([name]) => `${name}.ts`)
  await writeFile(join(consumer, 'tsconfig.json'), JSON.stringify({ compilerOptions: COMPILED, files }))
  await run(join(BIN, 'tsc'), ['-p', consumer], { env: { ...process.env, ...COMPILER } })
})

afterAll(() => rm(folder, { recursive: true, force: true }))

it('is used by a program with types, and by node', async () => {
  const server = await serve((seen) => {
    if (seen.method === 'POST') return json(201, { code: 201, data: [{ transactionId: 't-1' }] })
    return seen.method === 'GET'
      ? json(200, { status: 'COMPLETE', bioAge: { year: 41, month: 3 } })
      : json(404, {})
  })
  const { stdout } = await run(process.execPath, [join(consumer, 'program.js'), server.url])
  expect(JSON.parse(stdout)).toEqual({
    class: 'accepted',
    year: 41,
    refused: 'refused',
    wrongSetting: 'settings-invalid',
    valid: false,
    wrong: 'entity',
  })
  expect(server.seen.map((seen) => seen.headers['x-api-key'])).toEqual(['the-key', 'the-key', 'the-key'])
})

it('holds the build of today alone, with the definitions that the reference gateway serves', async () => {
  const definitions = join('packages', 'reference-gateway', 'src', 'definitions')
  const dist = join(consumer, 'node_modules', 'waybill', 'dist')
  expect(await readdir(dist)).not.toContain('removed.js')
  const { exports, types } = JSON.parse(await readFile(join(dirname(dist), 'package.json'), 'utf8'))
  // A compiler finds the types beside the code even where these name another file: so they are looked at here.
  expect([exports['.'], types]).toEqual([
    { types: './dist/src/index.d.ts', default: './dist/src/index.js' },
    './dist/src/index.d.ts',
  ])
  expect(await readdir(join(dist, definitions))).toEqual(await readdir(join(PROJECT, definitions)))
})

it('puts its command on the PATH by npm i -g, from where it makes a folder for a first run', async () => {
  // No registry is asked: what the bundle holds need not be installed.
  const manifest = join(folder, 'package', 'package.json')
  const { dependencies: _, ...alone } = JSON.parse(await readFile(manifest, 'utf8'))
  await writeFile(manifest, JSON.stringify(alone))
  const tarball = join(folder, 'global.tar')
  await run('tar', ['-cf', tarball, '-C', folder, 'package'])
  const prefix = join(folder, 'prefix')
  const env = {
    PATH: `${join(prefix, 'bin')}:${process.env['PATH']}`,
    ...{ npm_config_prefix: prefix, npm_config_offline: 'true', npm_config_cache: join(folder, 'cache') },
  }
  await run('npm', ['i', '-g', tarball], { cwd: folder, env })
  const place = { cwd: await mkdtemp(join(folder, 'first-')), env }
  const { stdout: version } = await run('waybill', ['--version'], place)
  expect(version.trim()).toBe(alone.version)
  const { stdout: begun } = await run('waybill', ['init'], place)
  expect(begun).toContain('Wrote    jobs/nightly-screenings.yaml')
  expect(existsSync(join(place.cwd, 'mappings/acme-onsite.yaml'))).toBe(true)
})

it('runs its command from the bundle, with the licences of what is in it', async () => {
  const installed = join(consumer, 'node_modules', 'waybill')
  const launcher = join(installed, 'bin', 'waybill.js')
  const { version } = JSON.parse(await readFile(join(PROJECT, 'package.json'), 'utf8'))
  const { stdout } = await run(process.execPath, [launcher, '--version'])
  expect(stdout.trim()).toBe(version)
  const { stdout: checked } = await run(process.execPath, [launcher, 'mapping', 'check', 'acme-onsite'], {
    cwd: installed,
    env: { PATH: process.env['PATH'], WAYBILL_HOME: join(folder, 'home') },
  })
  expect(checked).toContain('acme-onsite')
  // As somebody has it who installs the package in an empty folder.
  const place = { cwd: join(folder, 'place'), env: { PATH: process.env['PATH'] } }
  await mkdir(place.cwd)
  await run(process.execPath, [launcher, 'init'], place)
  const { stdout: counted } = await run(
    process.execPath,
    [launcher, 'run', 'nightly-screenings', '--json', '--quiet', '--limit', '20'],
    place,
  ).catch((error: Error) => ({ stdout: error.message }))
  expect(counted).toContain('"state":"finished"')
  const readme = await readFile(join(installed, 'README.md'), 'utf8')
  for (const [, path = ''] of readme.matchAll(/\]\(([a-zA-Z][^):#]*)[^):]*\)/g))
    expect([path, existsSync(join(installed, path))]).toEqual([path, true])
  // As somebody has them beside jobs and mappings.
  const [runs = '', calls, test] = await Promise.all(
    PROGRAMS.map(async (_, at) => {
      const program = join(consumer, `library-${at}.js`)
      return (await run(process.execPath, [program], place)).stdout
    }),
  )
  expect(runs).toMatch(/^\S+: 20 rows$/m)
  expect(runs).toMatch(/^finished, balanced$/m)
  expect([calls]).toEqual(blocks(page('docs/library.md'), 'text'))
  expect(test).toMatch(/pass 1$/m)
  // Built-in modules are got hold of by the code of a file: none may be needed before it has run.
  const parts = (await readdir(join(installed, 'dist/bundle'))).filter((name) => name.endsWith('.mjs'))
  const program = ['waybill.mjs', ...parts].map((name) => `await import('./dist/bundle/${name}')`)
  await run(process.execPath, ['--input-type=module', '--eval', program.join('\n')], { cwd: installed })
  const licences = await readFile(join(installed, 'dist/bundle/LICENSES.txt'), 'utf8')
  expect(licences).toMatch(/^zod \d+\.\d+\.\d+ \(MIT\)$/m)
})
