/** The users, folders and volumes of docs/deploy.md, made as root with users of its own: Waybill obeys what lies in them, as that user. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { type Ended, ended, INHERITED } from '../cli/command-line.ts'
import { NEEDS_MOUNTS } from '../faults/mounted-disk.ts'
import { IS_SHIFTED, needing } from '../needed.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { blocks, PROJECT, page } from './pages.ts'

const text = page('docs/deploy.md')
const shell = blocks(text, 'sh')
const settings = parseEnv(shell.find((block) => block.startsWith('# /etc/waybill/settings')) ?? '')
const Pod = z.object({
  securityContext: z.object({ runAsUser: z.int(), fsGroup: z.int() }),
  containers: z.tuple([
    z.object({
      workingDir: z.string(),
      env: z.array(z.object({ name: z.string(), value: z.string() })),
      volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string() })),
    }),
  ]),
})
const CronJob = z.object({
  spec: z.object({
    jobTemplate: z.object({ spec: z.object({ template: z.object({ spec: Pod }) }) }),
  }),
})

/** Whom no machine has. */
const SERVICE = 64_010
const ENTRY = join(PROJECT, 'bin/waybill.js')
/** The job of the page; the first rows of its samples are enough. */
const NIGHTLY = ['run', 'nightly-screenings', '--limit', '20']
/** The samples are dirty. */
const DONE = [0, 1]

interface As {
  readonly uid: number
  readonly folder: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Supplementary groups. */
  readonly groups?: readonly number[]
}

/** @param umask as the unit has it */
function waybill({ uid, folder, environment, groups = [] }: As, ...args: string[]): Promise<Ended> {
  const as = ['--reuid', String(uid), '--regid', String(uid)]
  const member = groups.length === 0 ? '--clear-groups' : `--groups=${groups.join(',')}`
  const env = { ...INHERITED, ...environment, NODE_COMPILE_CACHE: undefined }
  return ended(spawn('setpriv', [...as, member, process.execPath, ENTRY, ...args], { cwd: folder, env }))
}

const canBe = process.getuid?.() === 0 && spawnSync('setpriv', ['--version']).status === 0
// Processes of another user may not open what shifts the clock (libfaketime).
const NEEDS_OTHER_USER = needing(
  canBe && !IS_SHIFTED,
  'root, setpriv on the PATH, and a clock that is not shifted',
)

/** An empty machine, which every user may look at. */
async function openMachine(): Promise<string> {
  const root = await temporaryFolder()
  chmodSync(root, 0o755)
  for (const folder of ['srv', 'var', 'var/lib', 'etc']) mkdirSync(join(root, folder), { mode: 0o755 })
  return root
}

describe('the user waybill', NEEDS_OTHER_USER, () => {
  it('is obeyed in the folders that the page makes, and its home by nobody else, root included', async () => {
    const root = await openMachine()
    const install = shell.find((block) => block.startsWith('useradd')) ?? ''
    for (const line of install.split('\n').filter((one) => one.startsWith('install '))) {
      const typed = line
        .replace(/(?<=-[og] )waybill/g, String(SERVICE))
        .replace(/(?<= )\/(?!dev)/g, `${root}/`)
      execFileSync('/bin/sh', ['-c', typed])
    }
    const unit = page('examples/systemd/waybill.service')
    expect(unit).toContain('\nUser=waybill\n')
    const folder = join(root, /^WorkingDirectory=(.+)$/m.exec(unit)?.[1] ?? '')
    const environment = {
      WAYBILL_HOME: join(root, settings['WAYBILL_HOME'] ?? ''),
      WAYBILL_GATEWAY_URL: 'built-in',
    }
    const service = { uid: SERVICE, folder, environment }
    expect(await waybill(service, 'init')).toMatchObject({ code: 0, err: '' })
    expect(DONE).toContain((await waybill(service, ...NIGHTLY, '--dry-run')).code)
    const run = await waybill(service, ...NIGHTLY)
    expect(run).toMatchObject({
      code: expect.toSatisfy((code) => DONE.includes(code)),
      err: expect.not.stringContaining('may be written'),
    })
    expect((await waybill(service, 'doctor')).out).not.toMatch(/belongs to|may be written by/)

    const asRoot = await waybill({ ...service, uid: 0 }, ...NIGHTLY)
    expect(asRoot.code).toBe(2)
    expect(asRoot.err).toMatch(
      /error file-untrusted: \S+ belongs to user 64010, who is neither this user nor root/,
    )
    expect(asRoot.err).toContain('runuser -u USER -- waybill')
    // Root has made nothing that the service could not read.
    expect(DONE).toContain((await waybill(service, ...NIGHTLY)).code)
    for (const name of readdirSync(environment.WAYBILL_HOME))
      expect(lstatSync(join(environment.WAYBILL_HOME, name)).uid).toBe(SERVICE)
  })
})

describe('the pod of the CronJob', NEEDS_OTHER_USER, () => {
  it(
    'runs from a volume with fsGroup, also once the kubelet has handed all of it to the group',
    NEEDS_MOUNTS,
    async () => {
      const { securityContext, containers } = CronJob.parse(parse(page('examples/kubernetes/cronjob.yaml')))
        .spec.jobTemplate.spec.template.spec
      const { runAsUser: uid, fsGroup } = securityContext
      const [{ env, volumeMounts, workingDir }] = containers
      const root = await openMachine()
      const volume = join(root, volumeMounts.find(({ name }) => name === 'home')?.mountPath ?? '')
      const folder = join(root, workingDir)
      mkdirSync(volume)
      mkdirSync(folder)
      execFileSync('mount', ['-t', 'tmpfs', 'none', volume])
      onTestFinished(() => void spawnSync('umount', [volume]))
      // Jobs and mappings are of the image, which root has made.
      execFileSync(process.execPath, [ENTRY, 'init', folder])
      execFileSync('chmod', ['-R', 'go=rX', folder])
      const home = join(root, env.find(({ name }) => name === 'WAYBILL_HOME')?.value ?? '')
      const environment = { WAYBILL_HOME: home, WAYBILL_GATEWAY_URL: 'built-in' }
      // kubernetes.io/docs/tasks/configure-pod-container/security-context: group of the volume, its bits, and setgid on folders.
      const mountAgain = (group: number): void => {
        chownSync(volume, 0, group)
        execFileSync('/bin/sh', [
          '-c',
          `chgrp -R ${group} ${volume} && chmod -R ug+rwX ${volume} && find ${volume} -type d -exec chmod g+s {} +`,
        ])
      }
      for (const [group, warning] of [
        [fsGroup, expect.not.stringContaining('fsGroup')],
        // An image whose user has another group.
        [fsGroup + 1, expect.stringContaining('as the volume was given to it (fsGroup)')],
      ] as const) {
        mountAgain(group)
        const pod = { uid, folder, environment, groups: [group] }
        const first = await waybill(pod, ...NIGHTLY)
        expect(DONE).toContain(first.code)
        mountAgain(group)
        expect(await waybill(pod, ...NIGHTLY)).toMatchObject({
          code: expect.toSatisfy((code) => DONE.includes(code)),
          err: warning,
        })
      }
    },
  )
})
