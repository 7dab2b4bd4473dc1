function __anteroom_offers
    set -l words (commandline -opc)
    set -l word (string unescape -- (commandline -ct))
    for offer in ($words[1] complete -- $words[2..-1] "$word" 2>/dev/null </dev/null)
        switch $offer
            case ':files'
                __fish_complete_path "$word"
            case ':folders'
                __fish_complete_directories "$word"
            case '*'
                echo $offer
        end
    end
end
complete -c anteroom -f -a '(__anteroom_offers)'
