// Prepares a fresh clone and runs a command in it:
//
//   node scripts/bootstrap.mjs [--build | --build=types] [-- command …]
//
// Installs the dependencies and, with --build, builds the packages; skips what is up to date. Its own messages go to
// stderr, and it exits with the command's exit code. It needs only Node.
//
// This file uses only syntax that old versions of Node can parse, so that they print the message below.

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

/** Whether a version is in a range of `^major.minor` and `>=major` parts. */
function isInRange(version, parts) {
  const [major, minor] = version.split('.').map(Number)
  return parts.split('||').some((part) => {
    const [requiredMajor, requiredMinor = 0] = part
      .replace(/[^\d.]/g, '')
      .split('.')
      .map(Number)
    if (major === requiredMajor) return minor >= requiredMinor
    return part.includes('>=') && major > requiredMajor
  })
}
