/** The package manager that installs, with its version. */
export const PNPM: string
