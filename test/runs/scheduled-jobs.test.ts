/** A job is listed with what is wrong with its mappings, as it would be refused when it is due. */
import { cp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createJobList } from '../../src/runs/scheduled-jobs.ts'
import { readSettings } from '../../src/system/settings.ts'
import { openClinic } from '../cli/clinic.ts'

test('a mapping that is not there, or wrong, is known when jobs are listed, and when it is put right', async () => {
  const clinic = await openClinic({})
  const { folder, environment } = clinic.workplace
  const mappings = join(folder, 'listed-mappings')
  await cp(join(folder, 'mappings'), mappings, { recursive: true })
  const settings = readSettings({ ...environment, WAYBILL_MAPPINGS: mappings }, folder)
  const list = createJobList(settings)
  const code = async (): Promise<string | undefined> => {
    const [one] = await list()
    return one !== undefined && 'problem' in one ? one.problem.code : undefined
  }
  expect(await code()).toBeUndefined()
  const [job] = await list()
  const mapping = join(mappings, `${job?.job?.sources[0]?.mapping}.yaml`)
  await cp(mapping, join(folder, 'kept.yaml'))
  await rm(mapping)
  expect(await code()).toBe('mapping-not-found')
  // Whether its exports have come can still be seen.
  expect((await list())[0]?.job?.definition.job).toBe('clinic')
  await writeFile(mapping, 'mapping: wrong\n')
  expect(await code()).toBe('mapping-invalid')
  await cp(join(folder, 'kept.yaml'), mapping)
  expect(await code()).toBeUndefined()
  // What has not changed is not read again.
  expect((await list())[0]).toBe((await list())[0])
})

test('a job is checked again once its own catalog has changed', async () => {
  const job = `exports: { from: ../inbox, match: "*.csv", mapping: clinic }
catalog: ../own-catalog.yaml
schedule: { cron: "0 * * * *", zone: Etc/UTC }
`
  const { workplace } = await openClinic({ job })
  const { folder, environment } = workplace
  const catalog = join(folder, 'own-catalog.yaml')
  const list = createJobList(readSettings(environment, folder))
  const code = async (): Promise<string | undefined> => {
    const [one] = await list()
    return one !== undefined && 'problem' in one ? one.problem.code : undefined
  }
  await writeFile(catalog, 'biometrics: { heart-rate: { range: [20, 310] } }\n')
  expect(await code()).toBeUndefined()
  await writeFile(catalog, 'biometrics: { heart-rate: { range: wide } }\n')
  expect(await code()).toBe('catalog-invalid')
  await writeFile(catalog, 'biometrics: { heart-rate: { range: [20, 300] } }\n')
  expect(await code()).toBeUndefined()
})
