import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { JobDefinition } from '../../src/definitions/job-definition.ts'
import { noTallies } from '../../src/ledger/ledger.ts'
import { noCounts } from '../../src/model/balance.ts'
import { NOTICE_KINDS, payloadOf, sentFrom } from '../../src/notify/notice.ts'
import { runNotice } from '../../src/story/notices.ts'
import type { RunSummary } from '../../src/story/run-story.ts'
import { VARIABLES } from '../../src/system/settings.ts'
import { parseYaml } from '../../src/system/yaml-file.ts'
import { blocks, codeRows, page, sections, tableRows } from './pages.ts'

const text = page('docs/notifications.md')
const runbook = page('docs/runbook.md')
const kinds = [...NOTICE_KINDS].sort()

describe('docs/notifications.md', () => {
  it('shows targets that a job may name', () => {
    const [example = ''] = blocks(text, 'yaml')
    const { notify } = parseYaml(example, 'docs/notifications.md', JobDefinition, 'job-invalid').value
    expect(notify.map((target) => Object.keys(target)[0])).toEqual(['webhook', 'email', 'email', 'command'])
  })

  it('shows what a program gets, as it is made', () => {
    const shown = z
      .looseObject({
        data: z.looseObject({
          id: z.string(),
          text: z.array(z.string()),
          details: z.record(z.string(), z.any()),
        }),
      })
      .parse(JSON.parse(blocks(text, 'json')[0] ?? ''))
    // Other kinds, each with zeros, are left out of the page.
    const details: Record<string, unknown> = {
      ...shown.data.details,
      records: { ...noCounts().records, ...shown.data.details['records'] },
    }
    // What the page shows stands here for what the ledger would say.
    const summary = {
      ...details,
      ...noTallies(),
      drift: [],
      job: 'nightly',
      gateway: 'https://gateway.example',
    } as unknown as RunSummary
    const at = Date.UTC(2026, 2, 2, 7, 31)
    const notice = runNotice({ summary, exit: 1, reasons: shown.data.details['reasons'], next: [], at })
    const from = { host: 'night-host', home: '/var/lib/waybill', console: undefined }
    const made = JSON.parse(payloadOf({ id: shown.data.id, notice: sentFrom(notice, from) }))
    const [first] = made.data.text
    expect(shown.data.text[0]).toBe(first)
    expect({ ...made, data: { ...made.data, text: shown.data.text } }).toEqual({
      ...shown,
      data: { ...shown.data, details },
    })
  })

  it('names settings and variables that there are', () => {
    const named = [...text.matchAll(/WAYBILL_\w+/g)].map(([name]) => name)
    const notices = ['KIND', 'JOB', 'TITLE', 'FAILURE', 'ID'].map((name) => `WAYBILL_NOTICE_${name}`)
    for (const name of named) expect([...VARIABLES, ...notices]).toContain(name)
    for (const name of notices) expect(named).toContain(name)
  })
})

describe('the runbook', () => {
  const section = sections(runbook, 2).get('Notifications') ?? ''

  it('has a row for every kind of notification, and no other', () => {
    expect(codeRows(section).sort()).toEqual(kinds)
  })

  it('says for each what to do', () => {
    for (const [kind = '', , todo = ''] of tableRows(section))
      if (kind !== '`test`') expect(todo, kind).toContain('`waybill ')
  })
})
