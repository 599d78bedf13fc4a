/** What every channel of notifications does, whatever carries it. */
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { type Channel, NotDelivered } from '../../src/notify/notice.ts'
import { MESSAGE } from '../notify/sample-notice.ts'

/** `hangs`: takes what it is given, and never says so. */
export type Receiver = 'takes' | 'refuses' | 'hangs'

/** Milliseconds: short only where they are waited out, else against hanging alone. */
export const limitOf = (receiver: Receiver): number => (receiver === 'hangs' ? 300 : 60_000)

export interface ChannelUnderTest {
  readonly channel: Channel
  /** What arrived, as text that a person or program reads. */
  received(): Promise<readonly string[]>
  /** What must stand in no error. */
  readonly secrets: readonly string[]
}

/** @param open a channel to a receiver of that kind, for the running test; with the time limit that `limitOf` gives */
export function describeChannel(name: string, open: (receiver: Receiver) => Promise<ChannelUnderTest>): void {
  describe(`${name} as a channel`, () => {
    const failure = async ({ channel }: ChannelUnderTest): Promise<NotDelivered> => {
      const error = await channel.deliver(MESSAGE).then(
        () => undefined,
        (thrown: unknown) => thrown,
      )
      if (error instanceof NotDelivered) return error
      return expect.fail(`not refused as it should be: ${inspect(error)}`)
    }

    it('delivers a notice: its title, its lines, its id, each time that it is asked to', async () => {
      const { channel, received } = await open('takes')
      await channel.deliver(MESSAGE)
      await channel.deliver(MESSAGE)
      const arrived = await received()
      expect(arrived).toHaveLength(2)
      for (const text of arrived) {
        expect(text).toContain(MESSAGE.notice.title)
        expect(text).toContain(MESSAGE.id)
        for (const line of MESSAGE.notice.text) expect(text).toContain(line)
      }
    })

    it('tells that it was refused, and by what code', async () => {
      const { message, passing } = await failure(await open('refuses'))
      expect(message).toMatch(/\d/)
      expect(passing).toBe(false)
    })

    it('does not wait longer than its limit', async () => {
      const { message } = await failure(await open('hangs'))
      expect(message).toContain('0.3 s')
    })

    it.each(['refuses', 'hangs'] as const)('keeps its secrets where the receiver %s', async (receiver) => {
      const opened = await open(receiver)
      const told = inspect(await failure(opened), { depth: 9, showHidden: true })
      expect(opened.secrets.length).toBeGreaterThan(0)
      for (const secret of opened.secrets) expect(told).not.toContain(secret)
    })
  })
}
