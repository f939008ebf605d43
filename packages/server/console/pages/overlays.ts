export { Palette as palette } from './overlays/palette.tsx'
export { Shortcuts as shortcuts } from './overlays/shortcuts.tsx'
