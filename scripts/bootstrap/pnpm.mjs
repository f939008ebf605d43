// Not `packageManager` in package.json: with that pin, other pnpm versions refuse the lockfile.
export const PNPM = 'pnpm@10.34.9'
