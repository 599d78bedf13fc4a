import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createWorkplace } from '../../../test/cli/command-line.ts'
import { FaultPlan, readFaultPlan } from '../src/fault-plan.ts'
import { startGateway } from './gateway-under-test.ts'
import { startStruck } from './struck-gateway.ts'

async function written(text: string): Promise<string> {
  const { folder } = await createWorkplace()
  const file = join(folder, 'plan.yaml')
  await writeFile(file, text)
  return file
}

const WRONG = `seed: seven
faults:
  - on: createBiometrics
    do: refuse
    status: 42
  - on: everything
    do: reset
  - on: writes
    do: explode
  - { on: writes, do: hang, when: { nth: 0, often: 3 } }
  - { on: registerAccount, do: echo, as: shuffled }
`

describe('a plan file', () => {
  it('is read from YAML or JSON, with its defaults', async () => {
    const expected = {
      seed: 7,
      faults: [
        { on: ['writes'], when: { nth: [1, 3] }, do: 'refuse', status: 503, retryAfter: 2, body: 'envelope' },
      ],
    }
    const yaml = 'seed: 7\nfaults:\n  - { on: writes, when: { nth: [1, 3] }, do: refuse, retryAfter: 2 }\n'
    expect(await readFaultPlan(await written(yaml))).toEqual(expected)
    expect(await readFaultPlan(await written(JSON.stringify(expected)))).toEqual(expected)
  })

  it('that is wrong is told with all findings: line and key', async () => {
    const file = await written(WRONG)
    const findings = [
      [1, 'seed'],
      [5, 'faults[0].status'],
      [6, 'faults[1].on[0]'],
      [9, 'faults[2].do'],
      [10, 'faults[3].when.nth'],
      [10, 'faults[3].when.often'],
    ]
    await expect(readFaultPlan(file)).rejects.toMatchObject({
      code: 'usage-wrong',
      findings: findings.map(([line, key]) => ({ place: { file, line, key } })),
    })
  })

  it('ends the command with exit code 2 and the findings', async () => {
    const workplace = await createWorkplace()
    await writeFile(join(workplace.folder, 'plan.yaml'), WRONG)
    const wrong = await workplace.waybill('gateway', '--port', '0', '--faults', 'plan.yaml')
    expect(wrong.code).toBe(2)
    for (const key of ['faults[0].status', 'faults[2].do', 'faults[3].when.often'])
      expect(wrong.err).toContain(key)
    const gone = await workplace.waybill('gateway', '--port', '0', '--faults', 'gone.yaml')
    expect([gone.code, gone.err.includes('gone.yaml')]).toEqual([2, true])
  })
})

describe('a plan', () => {
  const problems = (fault: object): string[] => {
    const { error } = FaultPlan.safeParse({ faults: [fault] })
    return (error?.issues ?? []).map(({ path }) => path.slice(2).join('.'))
  }

  it.each([
    [{ do: 'reset' }, ['on.0']],
    [{ on: [], do: 'reset' }, ['on']],
    [{ on: 'createBiometric', do: 'reset' }, ['on.0']],
    [{ on: ['reads', 'createBiometrics'], do: 'reset' }, []],
    [{ on: 'writes', do: 'reset', status: 500 }, ['']],
    [{ on: 'writes', do: 'refuse', status: 600 }, ['status']],
    [{ on: 'writes', do: 'refuse', retryAfter: -1 }, ['retryAfter']],
    [{ on: 'writes', do: 'refuse', retryAfter: { date: -5 } }, []],
    [{ on: 'writes', do: 'poison' }, ['record']],
    [{ on: 'writes', do: 'poison', share: 0.1, record: { value: 1 } }, ['record']],
    [{ on: 'writes', do: 'poison', record: {} }, ['record']],
    [{ on: 'writes', do: 'store-part', share: 0.5, count: 3 }, ['count']],
    [{ on: 'writes', do: 'store-part', share: 1.5 }, ['share']],
    [{ on: 'writes', do: 'echo', as: 'shuffled', count: 2 }, ['as']],
    [{ on: 'setPrimaryCare', do: 'poison', share: 0.1 }, ['on']],
    [{ on: 'reads', do: 'store-part' }, ['on']],
    [{ on: 'deleteAccount', do: 'garble', as: 'html' }, ['on']],
    [{ on: 'registerAccount', do: 'expire-token' }, ['on']],
    [{ on: 'writes', do: 'lag', ms: 5 }, ['on']],
    [{ on: 'all', do: 'lag', ms: 5 }, []],
    [{ on: 'all', do: 'slow', ms: [2, 1] }, ['ms']],
    [{ on: 'all', do: 'outage', forMs: 1, as: 'reset', retryAfter: 1 }, ['as']],
    [{ on: 'all', do: 'reset', when: { chance: 1.1 } }, ['when.chance']],
    [{ on: 'all', do: 'reset', when: { nth: [] } }, ['when.nth']],
  ])('%j has problems at %j', (fault, expected) => {
    expect(problems(fault)).toEqual(expected)
  })
})

describe('/_reference/faults', () => {
  it('has no plan at first, takes one, tells its strikes, and takes none', async () => {
    const gateway = await startStruck()
    expect(await gateway.report()).toEqual({ plan: null, loadedAt: null, faults: [] })
    await gateway.load({ do: 'refuse', on: 'readBiometrics', when: { nth: [2, 3] } })
    const read = {
      method: 'GET',
      path: '/health-profile/biometrics?accountReference=p-1&accountReferenceType=partnerAccountId',
    }
    const statuses = []
    for (let at = 0; at < 4; at++) statuses.push((await gateway.send(read)).status)
    expect(statuses).toEqual([200, 503, 503, 200])
    expect(await gateway.report()).toMatchObject({
      plan: { seed: 7, faults: [{ do: 'refuse', status: 503 }] },
      loadedAt: gateway.now(),
      faults: [{ do: 'refuse', matched: 4, struck: 2, ordinals: [2, 3] }],
    })
    await gateway.load({ do: 'refuse', on: 'readBiometrics', when: { nth: 1 } })
    expect((await gateway.report()).faults).toMatchObject([{ matched: 0, struck: 0, ordinals: [] }])
    expect((await gateway.clear()).status).toBe(204)
    expect((await gateway.send(read)).status).toBe(200)
  })

  it('refuses a wrong plan and keeps the one it has', async () => {
    const gateway = await startStruck([{ do: 'hang', on: 'all' }])
    const { status, body } = await gateway.call('PUT', '/_reference/faults', {
      faults: [{ on: 'all', do: 'hag' }],
    })
    expect([status, body.errors[0]?.field]).toEqual([400, 'faults.0.do'])
    expect((await gateway.report()).faults).toHaveLength(1)
  })

  it('the plan of the start is there at once, and strikes no control call', async () => {
    const faults = FaultPlan.parse({ faults: [{ on: 'all', do: 'refuse' }] })
    const { call, counts } = await startGateway({ faults })
    expect((await call('POST', '/account/register', {})).status).toBe(503)
    expect((await counts()).account).toBe(0)
    expect((await call('GET', '/nothing')).status).toBe(404)
  })
})
