import { describe, expect, it, test } from 'vitest'
import { JobDefinition } from '../../src/definitions/job-definition.ts'
import { keyOf, missingSettings, nameOf } from '../../src/definitions/notify-definition.ts'
import { WaybillError } from '../../src/model/errors.ts'
import { parseYaml } from '../../src/system/yaml-file.ts'

const read = (notify: string) =>
  parseYaml(
    `job: j\nexports: { from: in, match: "*.csv" }\nmapping: m\n${notify}`,
    'jobs/j.yaml',
    JobDefinition,
    'job-invalid',
  ).value.notify

/** `line:column key: message` */
function problems(notify: string): string[] {
  try {
    read(notify)
    return []
  } catch (error) {
    if (!(error instanceof WaybillError)) throw error
    return error.findings.map(
      ({ place, message }) => `${place.line}:${place.column} ${place.key}: ${message}`,
    )
  }
}

describe('notify', () => {
  it('is nobody, one target, or a list of them; each recipient of a mail is told on its own', () => {
    expect(read('')).toEqual([])
    expect(read('notify: { command: ./page.sh }')).toEqual([{ command: './page.sh', on: 'failure' }])
    expect(
      read(`notify:
  - { webhook: "https://hooks.example/waybill", on: always }
  - { email: [a@hospital.example, b@hospital.example] }
  - { email: c@hospital.example, on: always }
  - { command: ./page.sh, on: news }`),
    ).toEqual([
      { webhook: 'https://hooks.example/waybill', on: 'always' },
      { email: 'a@hospital.example', on: 'failure' },
      { email: 'b@hospital.example', on: 'failure' },
      { email: 'c@hospital.example', on: 'always' },
      { command: './page.sh', on: 'news' },
    ])
  })

  it.each(['http://127.0.0.1:8080/x', 'http://localhost/x', 'http://[::1]/x', 'https://hooks.example'])(
    'may post to %s',
    (webhook) => {
      expect(problems(`notify: { webhook: "${webhook}" }`)).toEqual([])
    },
  )

  it.each([
    [
      '{ webhook: "http://hooks.example/a-secret" }',
      '4:20 notify.webhook: must be an https address, like https://hooks.example/waybill; plain http is for loopback addresses only',
    ],
    [
      '{ webhook: hooks }',
      '4:20 notify.webhook: must be an https address, like https://hooks.example/waybill; plain http is for loopback addresses only',
    ],
    ['{ email: nobody }', '4:18 notify.email: is not a mail address; write it like oncall@hospital.example'],
    [
      '{ email: [a@b.example, no] }',
      '4:32 notify.email[1]: is not a mail address; write it like oncall@hospital.example',
    ],
    ['{ email: [] }', '4:18 notify.email: names nobody'],
    ['{ command: " " }', '4:20 notify.command: is empty; write it like "./page-oncall.sh"'],
    ['{ command: a, on: sometimes }', '4:27 notify.on: must be failure, always or news'],
    [
      '{ on: always }',
      '4:9 notify: needs exactly one of webhook, email, command; write it like { webhook: https://hooks.example/waybill, on: always }',
    ],
    [
      '{ command: a, email: a@b.example }',
      '4:9 notify: needs exactly one of webhook, email, command; write it like { webhook: https://hooks.example/waybill, on: always }',
    ],
    ['{ command: a, when: always }', '4:29 notify.when: unknown key "when"'],
  ])('%s is refused with line and example', (notify, problem) => {
    expect(problems(`notify: ${notify}`)).toEqual([problem])
    expect(problem).not.toContain('a-secret')
  })
})

test('a key that is none is told with its line, and what was to be there', () => {
  expect(problems('notify: [{ command: a }, { pager: b }]')).toEqual([
    '4:35 notify[1].pager: unknown key "pager"',
    '4:26 notify[1]: needs exactly one of webhook, email, command; write it like { webhook: https://hooks.example/waybill, on: always }',
  ])
})

describe('a target', () => {
  it('is told apart by what it is and where it leads, and named without what may be secret', () => {
    const webhook = { webhook: 'https://hooks.example:8443/T0/secret?key=secret', on: 'always' } as const
    const command = { command: 'curl -H "token: secret" https://pager.example', on: 'failure' } as const
    expect(nameOf(webhook)).toBe('webhook hooks.example:8443')
    expect(nameOf(command)).toBe('command curl')
    expect(nameOf({ command: 'TOKEN=secret ./page.sh', on: 'failure' })).toBe('command')
    expect(nameOf({ email: 'a@b.example', on: 'failure' })).toBe('mail to a@b.example')
    expect(keyOf(webhook)).toBe(keyOf({ ...webhook, on: 'failure' }))
    expect(keyOf(webhook)).not.toBe(keyOf({ ...webhook, webhook: `${webhook.webhook}x` }))
    expect(keyOf(command)).not.toBe(keyOf({ email: command.command, on: 'failure' }))
    expect(keyOf(webhook)).toMatch(/^[0-9a-f]{16}$/)
  })
})

test('settings that targets need are named, each once', () => {
  const targets = [
    { webhook: 'https://a.example', on: 'failure' },
    { webhook: 'https://b.example', on: 'failure' },
    { email: 'a@b.example', on: 'failure' },
    { command: 'page', on: 'failure' },
  ] as const
  const none = { webhookSecret: undefined, smtpUrl: undefined, smtpFrom: undefined }
  expect(missingSettings(targets, none).map(({ place, message }) => `${place.key} ${message}`)).toEqual([
    'WAYBILL_WEBHOOK_SECRET is needed to notify the webhook a.example (or WAYBILL_WEBHOOK_SECRET_FILE)',
    'WAYBILL_SMTP_URL is needed to notify by mail to a@b.example (or WAYBILL_SMTP_URL_FILE)',
  ])
  expect(missingSettings(targets, { ...none, webhookSecret: 's', smtpUrl: 'u' })).toEqual([])
  expect(missingSettings(targets.slice(3), none)).toEqual([])
})
