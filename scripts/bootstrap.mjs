// Makes a fresh clone ready, and then runs a command in it:
//
//   node scripts/bootstrap.mjs [--build | --build=types] [-- command …]
//
// It installs the dependencies and, when asked to, builds the packages; what is up to date is skipped. Everything it
// says itself goes to stderr, and it ends with the command's exit code. It needs nothing but Node.
//
// This file keeps to syntax that any Node of the last years can read, so that an old one gets a sentence to act on.

import { readFileSync } from 'node:fs'

const range = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).engines
  .node

if (isInRange(process.versions.node, range)) {
  import('./bootstrap/main.mjs').then(({ main }) => main(process.argv.slice(2)))
} else {
  console.error(
    `svc: Node.js ${range} is needed, and this is ${process.version}: install a newer one (https://nodejs.org) and run the same command again.`,
  )
  process.exitCode = 1
}

/** Whether a version fits a range made of `^major.minor` and `>=major` parts. */
function isInRange(version, parts) {
  const [major, minor] = version.split('.').map(Number)
  return parts.split('||').some((part) => {
    const [wantedMajor, wantedMinor = 0] = part
      .replace(/[^\d.]/g, '')
      .split('.')
      .map(Number)
    if (major === wantedMajor) return minor >= wantedMinor
    return part.includes('>=') && major > wantedMajor
  })
}
