import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createCommand } from '../../src/notify/command.ts'
import { openChannel } from '../../src/notify/open-channel.ts'
import { HANDED_ON, readSettings } from '../../src/system/settings.ts'
import { describeChannel, limitOf } from '../conformance/notify-channel.ts'
import { firstLine, handInTimers } from '../handed-timers.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { MESSAGE, NOTICE } from './sample-notice.ts'

const environment = { PATH: process.env['PATH'] ?? '' }
/** Against hanging alone. */
const LONG_MS = 60_000
const SECRET = 'a-token-within-the-command'

const linesOf = async (file: string): Promise<string[]> =>
  existsSync(file) ? (await readFile(file, 'utf8')).trimEnd().split('\n') : []

describeChannel('a command', async (receiver) => {
  const folder = await temporaryFolder()
  const ends = { takes: 'true', refuses: 'exit 7', hangs: 'sleep 60' }[receiver]
  return {
    channel: createCommand({
      environment,
      command: `TOKEN=${SECRET}; cat >> seen; echo "$TOKEN" >&2; ${ends}`,
      folder,
      timeoutMs: limitOf(receiver),
    }),
    received: () => linesOf(join(folder, 'seen')),
    secrets: [SECRET],
  }
})

it('finds a few facts in its environment, and the notice as JSON on its standard input', async () => {
  const folder = await temporaryFolder()
  await writeFile(join(folder, 'told.sh'), 'env | grep ^WAYBILL_NOTICE_ > env; cat > notice; pwd > where\n')
  await createCommand({ environment, command: 'sh ./told.sh', folder, timeoutMs: LONG_MS }).deliver(MESSAGE)
  expect((await linesOf(join(folder, 'env'))).sort()).toEqual([
    'WAYBILL_NOTICE_FAILURE=true',
    `WAYBILL_NOTICE_ID=${MESSAGE.id}`,
    'WAYBILL_NOTICE_JOB=nightly-screenings',
    'WAYBILL_NOTICE_KIND=run-ended',
    `WAYBILL_NOTICE_TITLE=${NOTICE.title}`,
  ])
  expect(JSON.parse(await readFile(join(folder, 'notice'), 'utf8'))).toMatchObject({
    type: 'waybill.run-ended',
    timestamp: '2026-03-02T07:31:00.000Z',
    data: { id: MESSAGE.id, job: 'nightly-screenings', details: { exit: 1 } },
  })
})

it('finds no secret there: nothing of what Waybill was started with but a short list, and where its home is', async () => {
  const folder = await temporaryFolder()
  const secrets = {
    ...{
      WAYBILL_API_KEY: SECRET,
      WAYBILL_ACCESS_TOKEN: SECRET,
      WAYBILL_KEY: SECRET,
      WAYBILL_SFTP_PASSWORD: SECRET,
    },
    ...{ WAYBILL_SMTP_URL: `smtps://u:${SECRET}@mail.example`, WAYBILL_SMTP_FROM: 'a@b.example' },
    ...{
      AWS_SECRET_ACCESS_KEY: SECRET,
      NODE_OPTIONS: `--title=${SECRET}`,
      LD_PRELOAD: '',
      VAULT_TOKEN: SECRET,
    },
  }
  const given = {
    ...environment,
    ...secrets,
    HOME: '/home/waybill',
    TZ: 'Etc/UTC',
    LANG: 'C',
    WAYBILL_HOME: 'home',
  }
  const settings = readSettings(given, folder)
  // As it is started: whatever it inherits would be there.
  Object.assign(process.env, secrets)
  onTestFinished(() => {
    for (const name of Object.keys(secrets)) delete process.env[name]
  })
  const channel = await openChannel({ command: 'env > env', on: 'always', folder }, settings, Date.now)
  await channel.deliver(MESSAGE)
  const lines = await linesOf(join(folder, 'env'))
  expect(lines.join('\n')).not.toContain(SECRET)
  const names = lines.map((line) => line.split('=')[0]).filter((name) => !name?.startsWith('WAYBILL_NOTICE_'))
  // What the shell itself sets is no secret.
  const own = names.filter((name) => !['PWD', 'OLDPWD', 'SHLVL', '_'].includes(name ?? ''))
  expect(own.sort()).toEqual([
    'HOME',
    'LANG',
    'PATH',
    'TZ',
    'WAYBILL_HOME',
    'WAYBILL_JOBS',
    'WAYBILL_MAPPINGS',
  ])
  expect(lines).toContain(`WAYBILL_HOME=${join(folder, 'home')}`)
  const documented = await readFile(join(import.meta.dirname, '../../docs/notifications.md'), 'utf8')
  for (const name of HANDED_ON) expect(documented).toContain(`\`${name}\``)
})

it('one that reads nothing has taken it all the same', async () => {
  const folder = await temporaryFolder()
  const text = Array.from({ length: 50_000 }, () => 'a line that fills the pipe')
  const channel = createCommand({ environment, command: 'exit 0', folder, timeoutMs: LONG_MS })
  await channel.deliver({ ...MESSAGE, notice: { ...NOTICE, text } })
})

it('one that takes too long is killed with all that it has started', async () => {
  const folder = await temporaryFolder()
  const command = 'sh -c "echo \\$\\$ > child; sleep 60" & wait'
  const pass = handInTimers()
  const delivered = createCommand({ environment, command, folder, timeoutMs: LONG_MS }).deliver(MESSAGE)
  const refused = expect(delivered).rejects.toMatchObject({
    message: 'the command took longer than 60 s, and was killed',
    passing: false,
  })
  const child = await firstLine(join(folder, 'child'))
  pass(LONG_MS)
  await refused
  // A process that is gone may be there as a zombie, until its parent has looked at it.
  const state = async (): Promise<string | undefined> => {
    const stat = await readFile(`/proc/${child}/stat`, 'utf8').catch(() => ') Z')
    return stat.split(') ')[1]?.[0]
  }
  await expect.poll(state).toBe('Z')
})

it.each([
  ['exit 3', 'the command failed (exit 3)'],
  ['kill -9 $$', 'the command failed (SIGKILL)'],
])('%s: %s', async (command, message) => {
  const folder = await temporaryFolder()
  await expect(
    createCommand({ environment, command, folder, timeoutMs: LONG_MS }).deliver(MESSAGE),
  ).rejects.toMatchObject({
    message,
  })
})

it('is run elsewhere where its folder is gone: that the jobs folder is gone is told by it, too', async () => {
  const folder = await temporaryFolder()
  const command = `pwd > '${folder}/where'`
  await createCommand({ environment, command, folder: join(folder, 'gone'), timeoutMs: LONG_MS }).deliver(
    MESSAGE,
  )
  expect(await linesOf(join(folder, 'where'))).toEqual(['/'])
})
