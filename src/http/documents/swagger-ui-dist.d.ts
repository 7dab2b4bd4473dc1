// An import with { type: 'file' } is the path of the file.
declare module 'swagger-ui-dist/*' {
  const path: string
  export default path
}

declare module '*.md' {
  const text: string
  export default text
}
