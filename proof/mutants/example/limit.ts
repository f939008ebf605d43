/** For the short form of `npm run mutants`: five mutants, one of which the tests beside it do not notice. */
export function isOver(amount: number, limit: number): boolean {
  return amount > limit
}
