/** Each executable that is delivered, by the platform of its Bun: its name, and what Bun calls the target that it is built for. */
export const delivered = {
  'linux-x64': { file: 'anteroom-linux-x64', target: 'bun-linux-x64-baseline' },
  'linux-arm64': { file: 'anteroom-linux-arm64', target: 'bun-linux-arm64' },
  'darwin-arm64': { file: 'anteroom-macos-arm64', target: 'bun-darwin-arm64' },
  'darwin-x64': { file: 'anteroom-macos-x64', target: 'bun-darwin-x64' },
  'win32-x64': { file: 'anteroom-windows-x64.exe', target: 'bun-windows-x64' },
} as const

/** A platform that there is an executable for, as Node tells of one: its system and its processor. */
export type DeliveredPlatform = keyof typeof delivered

/** All of them. */
export const deliveredPlatforms = Object.keys(delivered) as DeliveredPlatform[]
