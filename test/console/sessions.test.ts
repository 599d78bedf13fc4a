import { expect, test } from 'vitest'
import { isSameUser, ROLES, type Role } from '../../src/console/door.ts'

const subsets: readonly (readonly Role[])[] = Array.from({ length: 2 ** ROLES.length }, (_, chosen) =>
  ROLES.filter((_role, at) => (chosen & (1 << at)) !== 0),
)

test('a user is the same with the same name and the same roles alone', () => {
  const user = (name: string, roles: readonly Role[]) => ({ name, roles: new Set(roles) })
  for (const one of subsets)
    for (const other of subsets) {
      expect(isSameUser(user('ann', one), user('ann', other))).toBe(one.join() === other.join())
      expect(isSameUser(user('ann', one), user('ben', other))).toBe(false)
    }
})
