/** Notification targets of jobs, as their files last named them: for a file that nobody can read any more. Encrypted, as addresses hold secrets. */
import type { LastTargets } from '../concerns.ts'
import type { AccountIdCipher, SealedId } from '../sealed-ids.ts'
import type { Exclusive } from './exclusive.ts'

export const lastTargetsOf = ({ db, write }: Exclusive, cipher: AccountIdCipher): LastTargets => {
  const sealedOf = async (job: string): Promise<SealedId | null> => {
    const row = await db
      .selectFrom('last_targets')
      .select('targets')
      .where('job', '=', job)
      .executeTakeFirst()
    return row?.targets ?? null
  }
  return {
    async of(job) {
      return cipher.open(await sealedOf(job)) ?? undefined
    },
    async keep(job, text) {
      const targets = cipher.seal(text)
      // Equal texts are sealed alike: a job that names the same targets writes nothing.
      if (targets === null || targets === (await sealedOf(job))) return
      await write((writer) =>
        writer
          .insertInto('last_targets')
          .values({ job, targets })
          .onConflict((conflict) => conflict.column('job').doUpdateSet({ targets }))
          .execute(),
      )
    },
  }
}
